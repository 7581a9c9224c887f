// Serves Perfetto's trace processor (a WebAssembly build) on a Unix socket, in the byte protocol of
// `trace_processor server unix`, so that the Python package `perfetto` can talk to it. It prints
// "ready" once it listens, and ends with the connection.
//
//   node trace_processor_session.cjs DIRECTORY SOCKET
//
// DIRECTORY holds engine_bundle.js and the .wasm files as Perfetto's web page ships them. The bundle
// is a web worker, so this file plays the browser around it.
'use strict';
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const vm = require('node:vm');

const [directory, socketPath] = process.argv.slice(2);

class SyncFileRequest {
  open(_method, url) {
    this.url = url;
  }
  send() {
    const bytes = fs.readFileSync(path.join(directory, path.basename(this.url)));
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    this.status = 200;
  }
}

const worker = { location: { href: 'file:///engine_bundle.js' } };
const source = fs.readFileSync(path.join(directory, 'engine_bundle.js'), 'utf8');
// The worker's own names are parameters: the module must see a worker, and no `process`.
const names = ['self', 'process', 'XMLHttpRequest', 'WorkerGlobalScope', 'importScripts', 'console'];
const logOnly = { ...console, log: console.error, warn: console.error };
vm.compileFunction(source, names, { filename: 'engine_bundle.js' })(
  worker, undefined, SyncFileRequest, function WorkerGlobalScope() {}, () => {}, logOnly,
);

let client = null;
const port = {
  onmessage: null,
  postMessage(bytes) {
    if (client !== null) client.write(Buffer.from(bytes));
  },
};
worker.onmessage({ data: port });

// The bundle sets up its buffers in a promise callback once the module runs.
setTimeout(() => {
  net
    .createServer((connection) => {
      client = connection;
      connection.on('data', (bytes) => port.onmessage({ data: new Uint8Array(bytes) }));
      connection.on('close', () => process.exit(0));
    })
    .listen(socketPath, () => process.stdout.write('ready\n'));
}, 0);
