#!/usr/bin/env node
// Node's module `http` also offers WebSocket, and an import of a module reads all that it offers: that would load a second HTTP client, which no
// part of this program uses and which takes 3 MiB. So these names go before any module is loaded.
const http = process.getBuiltinModule('node:http')
for (const name of ['WebSocket', 'CloseEvent', 'MessageEvent']) Reflect.deleteProperty(http, name)

const [{ endOutput }, { runCli }] = await Promise.all([import('./cli/end-output.ts'), import('./cli/run-cli.ts')])
const flushed = endOutput(process)
const code = await runCli(process.argv, process)
await flushed()
process.exit(code)
