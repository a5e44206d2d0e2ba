import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import { parseDocument } from 'yaml'
import { z } from 'zod'
import { PlatnetError } from '../model/errors.ts'

/** Where the API server is and who we are to it. Holds secrets: never log it. */
export interface ClusterAccess {
  /** `https://host:port` with an optional path, no slash at the end. */
  readonly server: string
  /** Servers with the same state, for when that one does not answer; of the same protocol. */
  readonly otherServers?: readonly string[]
  readonly certificateAuthority?: string
  readonly clientCertificate?: string
  readonly clientKey?: string
  readonly bearer?: BearerToken
  readonly skipTlsVerify: boolean
  /** The name the server's certificate must carry, when it is not the one in `server`. */
  readonly tlsServerName?: string
}

type BearerToken =
  | { readonly kind: 'token'; readonly token: string }
  /** Read again as it is used: the file is rotated under us. */
  | { readonly kind: 'file'; readonly path: string }

type KubeconfigErrorCode = 'unreadable' | 'malformed' | 'unsupported'

/** A kubeconfig we cannot use. The message names file and field and never quotes the file: it is full of secrets. */
export class KubeconfigError extends PlatnetError<KubeconfigErrorCode> {}

const base64 = z.string().regex(/^[A-Za-z0-9+/\s]+={0,2}\s*$/, 'expected base64')
const text = z.string().min(1, 'expected a text that is not empty')

const clusterSchema = z.object({
  server: text,
  'certificate-authority': text.optional(),
  'certificate-authority-data': base64.optional(),
  'insecure-skip-tls-verify': z.boolean().optional(),
  'tls-server-name': text.optional(),
  'proxy-url': z.unknown().optional(),
})

const userSchema = z.object({
  'client-certificate': text.optional(),
  'client-certificate-data': base64.optional(),
  'client-key': text.optional(),
  'client-key-data': base64.optional(),
  token: text.regex(/^[\x21-\x7e]+$/, 'expected printable ASCII without spaces').optional(),
  tokenFile: text.optional(),
  exec: z.unknown().optional(),
  'auth-provider': z.unknown().optional(),
  username: z.unknown().optional(),
})

const kubeconfigSchema = z.object({
  'current-context': text,
  contexts: z.array(z.object({ name: text, context: z.object({ cluster: text, user: z.string().optional() }) })),
  clusters: z.array(z.object({ name: text, cluster: clusterSchema })),
  users: z.array(z.object({ name: text, user: userSchema.nullish() })).nullish(),
})

type Kubeconfig = z.infer<typeof kubeconfigSchema>
type User = z.infer<typeof userSchema>

/** The access that the file's current context describes; `servers` take the place of the cluster's own address. */
export async function loadKubeconfig(
  path: string,
  options: { servers?: readonly string[] | undefined } = {},
): Promise<ClusterAccess> {
  const config = parseKubeconfig(await readText(path, path, 'the kubeconfig'), path)
  const reader = new AccessReader(path, config)
  return checkAccess(await reader.read(options.servers), path)
}

/** Access by address alone: no credentials, the system's certificate authorities. */
export function accessByServer(...servers: readonly string[]): ClusterAccess {
  return { ...parseServers(servers, '--server'), skipTlsVerify: false }
}

function parseKubeconfig(source: string, path: string): Kubeconfig {
  // Pretty errors quote the lines around the fault, and those may hold a token or a key.
  const document = parseDocument(source, { prettyErrors: false })
  const fault = document.errors[0]
  if (fault !== undefined) {
    const line = source.slice(0, fault.pos[0]).split('\n').length
    throw new KubeconfigError('malformed', `${path}: line ${line} is not YAML (${fault.code})`)
  }
  const parsed = kubeconfigSchema.safeParse(document.toJS({ maxAliasCount: 100 }))
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'the file'}: ${issue.message}`)
  throw new KubeconfigError('malformed', `${path}: ${issues.join('; ')}`)
}

class AccessReader {
  readonly #path: string
  readonly #config: Kubeconfig

  constructor(path: string, config: Kubeconfig) {
    this.#path = path
    this.#config = config
  }

  async read(servers: readonly string[] | undefined): Promise<ClusterAccess> {
    const context = this.#named('contexts', this.#config['current-context']).context
    const { cluster } = this.#named('clusters', context.cluster)
    const user = context.user ? (this.#named('users', context.user).user ?? {}) : {}
    this.#refuse(`clusters.${context.cluster}`, cluster, ['proxy-url'])
    this.#refuse(`users.${context.user}`, user, ['exec', 'auth-provider', 'username'])
    const where = servers === undefined ? `${this.#path}: clusters.${context.cluster}.server` : '--server'
    const certificateAuthority = await this.#pem(cluster, 'certificate-authority')
    const clientCertificate = await this.#pem(user, 'client-certificate')
    const clientKey = await this.#pem(user, 'client-key')
    const bearer = this.#bearer(user)
    return {
      ...parseServers(servers ?? [cluster.server], where),
      skipTlsVerify: cluster['insecure-skip-tls-verify'] ?? false,
      ...(cluster['tls-server-name'] !== undefined && { tlsServerName: cluster['tls-server-name'] }),
      ...(certificateAuthority !== undefined && { certificateAuthority }),
      ...(clientCertificate !== undefined && { clientCertificate }),
      ...(clientKey !== undefined && { clientKey }),
      ...(bearer !== undefined && { bearer }),
    }
  }

  #named<List extends 'contexts' | 'clusters' | 'users'>(list: List, name: string) {
    const entries: readonly NonNullable<Kubeconfig[List]>[number][] = this.#config[list] ?? []
    const found = entries.find((entry) => entry.name === name)
    if (found !== undefined) return found
    throw new KubeconfigError(
      'malformed',
      `${this.#path}: ${list}: expected an entry with the name ${JSON.stringify(name)}`,
    )
  }

  #refuse(where: string, holder: Readonly<Record<string, unknown>>, fields: readonly string[]): void {
    const field = fields.find((name) => holder[name] !== undefined)
    if (field === undefined) return
    throw new KubeconfigError('unsupported', `${this.#path}: ${where}.${field} is not supported`, {
      remedy: 'use a client certificate, token or tokenFile, and a server reached directly',
    })
  }

  /** Inline data wins over a file, as in kubectl; file names are relative to the kubeconfig. */
  async #pem(holder: Readonly<Record<string, unknown>>, field: string): Promise<string | undefined> {
    const data = holder[`${field}-data`]
    if (typeof data === 'string') return Buffer.from(data, 'base64').toString('utf8')
    const file = holder[field]
    return typeof file === 'string' ? readText(this.#resolve(file), this.#path, field) : undefined
  }

  #bearer(user: User): BearerToken | undefined {
    if (user.tokenFile !== undefined) return { kind: 'file', path: this.#resolve(user.tokenFile) }
    return user.token === undefined ? undefined : { kind: 'token', token: user.token }
  }

  #resolve(file: string): string {
    return resolve(dirname(this.#path), file)
  }
}

async function readText(file: string, kubeconfig: string, field: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    const where = file === kubeconfig ? file : `${kubeconfig}: ${field}: ${file}`
    throw new KubeconfigError('unreadable', `${where} cannot be read`, { cause })
  }
}

function parseServers(texts: readonly string[], where: string): Pick<ClusterAccess, 'server' | 'otherServers'> {
  const [server = '', ...otherServers] = texts.map((each) => parseServer(each, where))
  const { protocol } = new URL(server)
  if (otherServers.some((each) => new URL(each).protocol !== protocol))
    throw new KubeconfigError('unsupported', `${where}: expected servers of one protocol, all https:// or all http://`)
  return { server, ...(otherServers.length > 0 && { otherServers }) }
}

function parseServer(server: string, where: string): string {
  const url = URL.canParse(server) ? new URL(server) : undefined
  const plain = url !== undefined && url.search === '' && url.hash === '' && url.username === '' && url.password === ''
  if (plain && /^https?:$/.test(url.protocol)) return url.href.replace(/\/+$/, '')
  throw new KubeconfigError('malformed', `${where}: expected an https:// address such as https://10.0.0.1:6443`)
}

function checkAccess(access: ClusterAccess, path: string): ClusterAccess {
  const { certificateAuthority: ca, clientCertificate: cert, clientKey: key, bearer } = access
  if ((cert === undefined) !== (key === undefined)) {
    throw new KubeconfigError(
      'malformed',
      `${path}: expected client-certificate and client-key together, found only one`,
    )
  }
  if (access.server.startsWith('http:') && (cert !== undefined || bearer !== undefined)) {
    throw new KubeconfigError('unsupported', `${path}: credentials are not sent over http://`, {
      remedy: 'use the https:// address of the server',
    })
  }
  checkPem(path, 'certificate-authority', ca === undefined ? {} : { ca })
  checkPem(path, 'client-certificate or client-key', cert === undefined || key === undefined ? {} : { cert, key })
  return access
}

function checkPem(path: string, field: string, pem: { ca?: string; cert?: string; key?: string }): void {
  if (pem.ca !== undefined && !pem.ca.includes('-----BEGIN CERTIFICATE-----')) {
    throw new KubeconfigError('malformed', `${path}: ${field}: expected a PEM certificate`)
  }
  try {
    createSecureContext(pem)
  } catch {
    throw new KubeconfigError(
      'malformed',
      `${path}: ${field}: expected PEM that TLS accepts, the key matching its certificate`,
    )
  }
}
