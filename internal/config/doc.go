// Package config reads the settings of petcat: from a command's flags, then from the
// environment, then from their defaults. It checks all of them and reports all
// mistakes at once. Secrets may come from files, and are masked when they are shown.
//
// It reads only its arguments and the files of secrets. It opens no database and no
// socket, and does not check whether a directory or server that a setting names exists.
// It knows no command: the caller decides which command has which flags. A file of a
// secret that cannot be read is a mistake like any other.
package config
