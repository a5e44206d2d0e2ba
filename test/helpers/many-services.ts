import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import type { RealCluster } from './real-cluster.ts'
import { untilAsync } from './until.ts'

const program = resolve(import.meta.dirname, '../long/deploy/many-services.program.ts')
const deadlineMs = 300_000
const atOnce = 1_000

/** The address of the one endpoint of the Service `many-INDEX`. */
export const endpointOf = (index: number) => `10.244.${7 + (index >> 8)}.${index & 255}`

/** The agent of the first node of a cluster and its rules, where there are thousands of Services. */
export class AgentOfMany {
  readonly #cluster: RealCluster
  readonly #mode: 'iptables' | 'nftables'

  constructor(cluster: RealCluster, mode: 'iptables' | 'nftables') {
    this.#cluster = cluster
    this.#mode = mode
  }

  /** The values of the agent's metrics whose lines match. */
  async metric(pattern: RegExp): Promise<readonly number[]> {
    const lines = (await this.#cluster.run('curl', '-s', 'http://127.0.0.1:10249/metrics')).split('\n')
    return lines.filter((line) => pattern.test(line)).map((line) => Number(line.split(' ').at(-1)))
  }

  /** How old the agent's copy of each collection is, in seconds; 0 where it is followed. */
  ages(): Promise<readonly number[]> {
    return this.metric(/^platnet_client_stale_seconds\{/)
  }

  async inStep(): Promise<void> {
    await untilAsync('the agent is in step', async () => (await this.ages()).every((age) => age === 0), deadlineMs)
  }

  readText(): Promise<string> {
    return this.#mode === 'iptables'
      ? this.#cluster.run('iptables-save')
      : this.#cluster.run('nft', '-s', 'list', 'ruleset')
  }

  /** Rules and elements in an order of their own, without the counters of packets. */
  async readRules(): Promise<string[]> {
    const isIptables = this.#mode === 'iptables'
    const pieces = (await this.readText()).replaceAll(/^[#:].*$/gm, '').split(isIptables ? '\n' : /[\n{},]/)
    return pieces
      .map((piece) => piece.trim())
      .filter((piece) => piece !== '')
      .sort()
  }

  async untilWritten(address: string): Promise<void> {
    const isWritten = async () => (await this.readText()).includes(address)
    await untilAsync(`the rules have ${address}`, isWritten, deadlineMs)
  }

  /** Creates the Services `many-INDEX` and waits for their rules. */
  async createServices(count: number, caFile: string): Promise<void> {
    const pid = (await this.#cluster.run('pgrep', '-of', 'agent --kubeconfig')).trim()
    const command = [program, 'https://192.168.77.2:6443', join(this.#cluster.state, caFile), 'admintoken']
    // One write of all is less work for the machine than thousands.
    await this.#cluster.run('kill', '-STOP', pid)
    for (let done = 0; done < count; done += atOnce) {
      const range = [String(done), String(Math.min(done + atOnce, count))]
      await this.#cluster.run(process.execPath, ...command, ...range)
    }
    await this.#cluster.run('kill', '-CONT', pid)
    const indexes = Array.from({ length: count }, (_, index) => index)
    const wanted = [...(await this.addressesOf()), ...indexes.map(endpointOf)]
    await untilAsync('all Services have rules', async () => this.#hasAll(wanted), deadlineMs)
  }

  async #hasAll(addresses: readonly string[]): Promise<boolean> {
    const written = new Set((await this.readText()).match(/\b10(?:\.\d+){3}\b/g))
    return addresses.every((address) => written.has(address))
  }

  /** The cluster addresses of these Services `many-INDEX`; of all of the namespace where none is named. */
  async addressesOf(indexes: readonly number[] = []): Promise<readonly string[]> {
    const names = indexes.map((index) => `many-${index}`)
    const lines = await this.#cluster.kubectl('get', 'services', ...names, '-o', 'jsonpath={..spec.clusterIP}')
    return lines.trim().split(' ')
  }

  /** What is written to the kernel meanwhile. */
  async monitored(step: () => Promise<void>): Promise<string> {
    const monitor = await this.#cluster.start('nft', 'monitor')
    const output = monitor.stdout === null ? '' : text(monitor.stdout)
    await step()
    monitor.kill('SIGTERM')
    return output
  }

  /**
   * The addresses in what was written that are not of these objects. With iptables a bucket of Services with one last byte is written as a
   * whole.
   */
  foreignAddresses(written: string, own: readonly string[]): readonly string[] {
    const isEndpoint = (address: string) => /^10\.24[45]\./.test(address)
    const bucketOf = (address: string) => (isEndpoint(address) ? undefined : address.split('.')[3])
    const buckets = new Set(this.#mode === 'iptables' ? own.map(bucketOf) : [])
    buckets.delete(undefined)
    const touched = [...new Set(written.match(/\b10\.\d+\.\d+\.\d+\b(?!\/1)/g))]
    return touched.filter((address) => !own.includes(address) && !buckets.has(bucketOf(address)))
  }
}
