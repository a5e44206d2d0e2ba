import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { runProgram } from '../../../src/host/index.ts'
import { AdminConnection } from '../../helpers/admin-connection.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { type AdminAccess, PlatnetServer } from '../../helpers/platnet-server.ts'

const root = resolve(import.meta.dirname, '../../..')

/** Programs of build.sh, of conformance/cluster, and of Debian. */
const folders = [join(root, '.cache/clients'), join(root, '.cache/conformance/bin'), '/usr/bin']

/** The file of a program; undefined where it is not built. */
export function programFile(name: string): string | undefined {
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file))
}

/** Why a test of these programs is skipped here; false where all are built. The shape of `TestOptions.skip`. */
export function missingPrograms(...names: readonly string[]): string | false {
  const missing = names.filter((name) => programFile(name) === undefined)
  if (missing.length === 0) return false
  return `${missing.join(', ')} not built: sh test/long/clients/build.sh, npm run conformance -- short (both need Go)`
}

/** A file of the module that a program was built from. */
export function sourceFile(program: string, path: string): string {
  return join(root, '.cache/clients', `source-${program}`, path)
}

/** An API server on the loopback with RBAC and TLS, and its administrator. */
export interface ClientsCluster {
  readonly folder: string
  readonly access: AdminAccess
  readonly admin: AdminConnection
  readonly kubeconfig: string
}

/** `platnet server`. */
export interface ClientsServer extends ClientsCluster, AsyncDisposable {
  /** The path of a file in the server's data directory. */
  dataFile(name: string): string
}

/** A server in the dialect kubernetes; `components` are its own: `api` alone leaves controllers and scheduler to other programs. */
export async function startServer(components: string, more: readonly string[] = []): Promise<ClientsServer> {
  const folder = mkdtempSync(join(tmpdir(), 'plt-clients-'))
  const dataDir = join(folder, 'data')
  const flags = ['--dialect', 'kubernetes', '--components', components, '--console=false', ...more]
  const server = new PlatnetServer(dataDir, await findFreePort(), {}, flags)
  const access = await server.start()
  const admin = new AdminConnection(access, 16)
  return {
    folder,
    access,
    admin,
    kubeconfig: join(dataDir, 'admin.kubeconfig'),
    dataFile: (name) => join(dataDir, name),
    [Symbol.asyncDispose]: async () => {
      admin.close()
      await server.stop('SIGTERM')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Writes a kubeconfig with a token of a ServiceAccount, and returns its path. */
export async function accountKubeconfig(server: ClientsCluster, namespace: string, account: string): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`
  const { body } = await server.admin.call('POST', path, { spec: { expirationSeconds: 7200 } })
  const file = join(server.folder, `${namespace}-${account}.kubeconfig`)
  writeKubeconfig(file, server.access, { token: body.status.token })
  return file
}

/** A kubeconfig with a certificate of the administrator. */
export function adminKubeconfig(file: string, access: AdminAccess): void {
  const [certificate, key] = [access.cert, access.key].map((pem) => Buffer.from(pem).toString('base64'))
  writeKubeconfig(file, access, { 'client-certificate-data': certificate, 'client-key-data': key })
}

function writeKubeconfig(file: string, { host, port, ca }: AdminAccess, user: object): void {
  const cluster = {
    server: `https://${host}:${port}`,
    'certificate-authority-data': Buffer.from(ca).toString('base64'),
  }
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'c',
  }
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 })
}

/** Runs kubectl as the administrator, and returns its standard output; throws ExecError where it exits other than 0. */
export async function kubectl(server: ClientsCluster, args: readonly string[], stdin?: string): Promise<string> {
  const env = { HOME: server.folder, KUBECONFIG: server.kubeconfig }
  const input = stdin === undefined ? {} : { input: stdin }
  return (await runProgram('kubectl', args, { timeoutMs: 120_000, env, ...input })).stdout
}

/** A program in the background, and what it has written. */
export class ClientProgram implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #logFile: string

  constructor(
    name: string,
    args: readonly string[],
    { folder, kubeconfig }: ClientsCluster,
    env: NodeJS.ProcessEnv = {},
  ) {
    const file = programFile(name)
    if (file === undefined) throw new Error(`${name} is not built`)
    this.#logFile = join(folder, `${name}-${Date.now()}.log`)
    const log = openSync(this.#logFile, 'a')
    this.#child = spawn(file, args, {
      cwd: folder,
      stdio: ['ignore', log, log],
      env: { PATH: process.env['PATH'], HOME: folder, KUBECONFIG: kubeconfig, ...env },
    })
  }

  get log(): string {
    return readFileSync(this.#logFile, 'utf8')
  }

  /** The lines with which klog reports a warning, an error or an end, less those that match. */
  complaints(...expected: readonly RegExp[]): readonly string[] {
    const lines = this.log.split('\n').filter((line) => /^[EWF]\d{4} /.test(line))
    return lines.filter((line) => !expected.some((pattern) => pattern.test(line)))
  }

  /** The exit code; null where a signal ended it. */
  async wait(): Promise<number | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit')
    return this.#child.exitCode
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    this.#child.kill(signal)
    await this.wait()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop('SIGKILL')
  }
}
