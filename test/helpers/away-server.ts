import { join } from 'node:path'
import { checkoutLauncher } from './program.ts'
import type { RealCluster } from './real-cluster.ts'
import { untilAsync } from './until.ts'

export const ownPort = '6443'
/** An address that agents and kubelets of the cluster do not know. */
export const hiddenPort = '6444'
const readyMs = 180_000

/** The API server of a cluster, which goes and comes back: kube-apiserver over etcd, or `platnet server`. */
export class AwayServer {
  readonly #cluster: RealCluster
  readonly #control: 'kubernetes' | 'platnet'
  /** Undefined: the server of up.sh, on all addresses. */
  readonly #address: string | undefined
  #commands: readonly (readonly string[])[] = []

  constructor(cluster: RealCluster, control: 'kubernetes' | 'platnet', address?: string) {
    this.#cluster = cluster
    this.#control = control
    this.#address = address
  }

  /** Reads how the server was started; before anything else. */
  async learn(): Promise<void> {
    const names = this.#control === 'kubernetes' ? [['-xo', 'etcd'], this.#nameOfServer] : [this.#nameOfServer]
    this.#commands = await Promise.all(names.map((name) => this.#commandOf(name)))
  }

  /** A server over the same etcd that listens at one address of the node alone; it is not started. */
  async at(address: string): Promise<AwayServer> {
    const server = new AwayServer(this.#cluster, this.#control, address)
    const folder = join(this.#cluster.state, `platnet-${address}`)
    const ofControl = {
      kubernetes: [`--advertise-address=${address}`],
      platnet: [`--data-dir=${folder}`, '--components=api'],
    }
    const command = this.#commands.at(-1) ?? []
    server.#commands = [[...command, `--bind-address=${address}`, ...ofControl[this.#control]]]
    const keys = ['ca.crt', 'ca.key', 'service-account.key'].map((name) => `platnet/pki/${name}`).join(' ')
    if (this.#control === 'platnet') await this.#shell(`mkdir -p '${folder}/pki'; cp ${keys} '${folder}/pki'`)
    return server
  }

  /** The server holds its connections and answers nothing. */
  async pause(): Promise<void> {
    await this.#cluster.run('kill', '-STOP', await this.#pidOf(this.#nameOfServer))
  }

  async kill(): Promise<void> {
    await this.#cluster.run('kill', '-KILL', await this.#pidOf(this.#nameOfServer))
  }

  async start(port = ownPort, withinMs = readyMs): Promise<void> {
    const command = this.#commands.at(-1) ?? []
    const at = command.indexOf('--secure-port') + 1
    await this.#run('server-again', command.with(at, port))
    const isReady = () => this.kubectl(port, 'get', '--raw', '/readyz').then(isDone, isNotDone)
    await untilAsync(`the API server is ready at port ${port}`, isReady, withinMs)
  }

  kubectl(port: string, ...args: readonly string[]): Promise<string> {
    return this.#cluster.kubectl('--server', `https://${this.#address ?? '192.168.77.2'}:${port}`, ...args)
  }

  /** Another certificate of the same authority; while the server is away. */
  async renewCertificate(): Promise<void> {
    const script =
      this.#control === 'platnet'
        ? 'rm platnet/pki/api-server.crt platnet/pki/api-server.key'
        : `openssl req -newkey rsa:2048 -nodes -subj /CN=kube-apiserver -keyout server.key -out server.csr
           openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -days 90 -extfile san -out server.crt`
    await this.#shell(script)
  }

  /** Copies the state; while the server is away. */
  async backUp(): Promise<void> {
    if (this.#control === 'platnet') await this.#shell(`${this.#storeCommand('backup')} "$PWD/backup.db"`)
    else await this.#withoutEtcd('cp -a etcd etcd-backup')
  }

  /** Goes back to the copy; while the server is away. */
  async restore(): Promise<void> {
    if (this.#control === 'platnet') await this.#shell(`${this.#storeCommand('restore')} "$PWD/backup.db" --force`)
    else await this.#withoutEtcd('rm -r etcd; mv etcd-backup etcd')
  }

  /** Forgets the history of etcd up to now. */
  async compact(): Promise<void> {
    if (this.#control === 'platnet') return
    const ask = 'etcdctl endpoint status -w fields | sed -n \'s/^"Revision" : //p\''
    await this.#shell(`export ETCDCTL_API=3; etcdctl compact "$(${ask})"`)
  }

  async #withoutEtcd(script: string): Promise<void> {
    await this.#cluster.run('kill', '-TERM', await this.#pidOf(['-xo', 'etcd']))
    await untilAsync('etcd has ended', () => this.#pidOf(['-xo', 'etcd']).then(isNotDone, isDone), readyMs)
    await this.#shell(script)
    await this.#run('etcd-again', this.#commands[0] ?? [])
  }

  /** For pgrep; the kernel's name has 15 letters. */
  get #nameOfServer(): readonly string[] {
    if (this.#address !== undefined) return ['-of', `bind-address=${this.#address}`]
    return this.#control === 'kubernetes' ? ['-xo', 'kube-apiserver'] : ['-of', 'server --data-dir']
  }

  #storeCommand(verb: string): string {
    return `'${checkoutLauncher}' server ${verb} --data-dir "$PWD/platnet" --dialect kubernetes`
  }

  async #pidOf(name: readonly string[]): Promise<string> {
    // A program that was stopped leaves a zombie.
    return (await this.#cluster.run('pgrep', '--runstates', 'D,R,S,T', ...name)).trim()
  }

  async #commandOf(name: readonly string[]): Promise<readonly string[]> {
    const line = await this.#cluster.run('cat', `/proc/${await this.#pidOf(name)}/cmdline`)
    return line.split('\0').filter((word) => word !== '')
  }

  async #run(logName: string, command: readonly string[]): Promise<void> {
    const log = join(this.#cluster.state, 'logs', `${logName}.log`)
    await this.#cluster.start(
      'env',
      '-C',
      this.#cluster.state,
      'sh',
      '-c',
      `exec "$@" >>'${log}' 2>&1`,
      'sh',
      ...command,
    )
  }

  async #shell(script: string): Promise<void> {
    await this.#cluster.run('env', '-C', this.#cluster.state, 'sh', '-ec', script)
  }
}

const isDone = () => true
const isNotDone = () => false
