# Sends the requests of the JSON array on stdin with http.client, which sends a
# whole body before it reads, and writes what came back as a JSON array.
import http.client
import json
import sys
import urllib.parse


def exchange(request):
    url = urllib.parse.urlsplit(request["url"])
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    if request["version"] == "1.0":
        connection._http_vsn, connection._http_vsn_str = 10, "HTTP/1.0"
    try:
        connection.request(request["method"], url.path, b"0" * request["size"], request["headers"])
        answer = connection.getresponse()
        return {"status": answer.status, "body": answer.read().decode()}
    except Exception as e:
        return {"error": repr(e)}
    finally:
        connection.close()


json.dump([exchange(r) for r in json.load(sys.stdin)], sys.stdout)
