package management

// listBackups handles GET /backups: it lists the last verified scheduled backup, if there is one.
func (a *API) listBackups(c *call) error {
	backups, err := a.Backups(c.ctx())
	if err != nil {
		return err
	}
	return c.ok(backups)
}
