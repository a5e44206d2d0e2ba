// Preloaded before each test file (`scripts/test.ts`, `scripts/check.ts`): a file of test/unit or test/golden that starts a server, a thread or a
// process fails. Files that share a process are imported by one whose path names their level (`scripts/test-groups.ts`).
import childProcess from 'node:child_process'
import dgram from 'node:dgram'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import workerThreads from 'node:worker_threads'

const isUnit = /\/test\/(unit|golden)\//.test(process.argv[1] ?? '')

function refuse(what: string): () => never {
  return () => {
    throw new Error(`a unit test may not use ${what}: move the file to test/component (test/README.md)`)
  }
}

if (isUnit) {
  net.Server.prototype.listen = refuse('net.Server.listen')
  dgram.Socket.prototype.bind = refuse('dgram.Socket.bind')
  for (const name of ['spawn', 'spawnSync', 'execFile', 'execFileSync', 'exec', 'execSync', 'fork'] as const) {
    Object.assign(childProcess, { [name]: refuse(`child_process.${name}`) })
  }
  Object.assign(workerThreads, {
    Worker: class {
      constructor() {
        refuse('worker_threads.Worker')()
      }
    },
  })
  syncBuiltinESMExports()
}
