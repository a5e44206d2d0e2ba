import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { DialectName } from '../../src/model/dialect.ts'
import { startTestServer, type TestServer, testToken } from './api-server.ts'

const execute = promisify(execFile)

/** Why tests that need kubectl are skipped here; false where it is installed. */
export function missingKubectl(): string | false {
  try {
    execFileSync('kubectl', ['version', '--client'], { stdio: 'ignore' })
    return false
  } catch {
    return 'kubectl is not on this machine'
  }
}

/** kubectl with a home of its own, against a server of its own. */
export interface Kubectl extends AsyncDisposable {
  readonly server: TestServer
  /** What it printed; rejects with its complaint. */
  run(...args: string[]): Promise<string>
  /** The name of a file with this content in the folder that kubectl runs in. */
  file(name: string, content: unknown): string
}

export async function startKubectl(dialect: DialectName): Promise<Kubectl> {
  const server = await startTestServer({ dialect })
  const home = mkdtempSync(join(tmpdir(), 'platnet-kubectl-'))
  const options = ['--server', server.url, '--token', testToken, '--insecure-skip-tls-verify']
  const env = { PATH: process.env['PATH'], HOME: home, KUBECONFIG: '/dev/null' }
  return {
    server,
    run: async (...args) =>
      (await execute('kubectl', [...args, ...options], { cwd: home, env, timeout: 30_000 })).stdout,
    file: (name, content) => {
      writeFileSync(join(home, name), typeof content === 'string' ? content : JSON.stringify(content))
      return name
    },
    [Symbol.asyncDispose]: async () => {
      await server.stop()
      rmSync(home, { recursive: true })
    },
  }
}
