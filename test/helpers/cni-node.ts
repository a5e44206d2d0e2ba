import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Run, runProgram } from '../../src/host/index.ts'
import { CniRuntime, type CniSandbox, type CniSettings } from '../../src/node/cni/index.ts'
import { silentLogger } from '../../src/observe/logger.ts'
import type { NetnsLab, TestNetns } from './netns.ts'
import { skipReason } from './netns.ts'
import { makeTemporaryFolder } from './temporary-folder.ts'
import { untilAsync } from './until.ts'

export const debianPlugins = '/usr/lib/cni'

/** Why tests with Debian's plugins cannot run here. */
export function cniSkipReason(...programs: readonly string[]): string | false {
  const missing = skipReason('iptables', 'iptables-save', ...programs)
  if (missing) return missing
  try {
    return readdirSync(debianPlugins).includes('bridge') ? false : 'needs containernetworking-plugins'
  } catch {
    return 'needs containernetworking-plugins'
  }
}

/** A namespace that stands for a node, with a runtime whose plugins run in it and whose files are the test's own. */
export class CniNode {
  readonly netns: TestNetns
  readonly folder: string
  readonly configDir: string
  readonly cacheDir: string
  readonly ipamDir: string
  readonly #lab: NetnsLab

  private constructor(lab: NetnsLab, netns: TestNetns, folder: string) {
    this.#lab = lab
    this.netns = netns
    this.folder = folder
    this.configDir = join(folder, 'net.d')
    this.cacheDir = join(folder, 'cni')
    this.ipamDir = join(folder, 'cni/networks')
    mkdirSync(this.configDir)
  }

  static async create(test: TestContext, lab: NetnsLab): Promise<CniNode> {
    return new CniNode(lab, await lab.create(), makeTemporaryFolder(test))
  }

  /** Plugins run as they would on the node: in its network, their own mount of /sys apart. */
  readonly run: Run = (file, args, options) => runProgram(file, args, { netns: this.netns.name, ...options })

  runtime(more: Partial<CniSettings> = {}): CniRuntime {
    const { configDir, cacheDir, run } = this
    const runProgram = this.netns.run
    return new CniRuntime({
      configDir,
      binDirs: [debianPlugins],
      cacheDir,
      run,
      runProgram,
      log: silentLogger,
      ...more,
    })
  }

  network(file: string, json: object): void {
    writeFileSync(join(this.configDir, file), JSON.stringify(json))
  }

  /** A namespace for a pod, and what the runtime needs to know of it. */
  async sandbox(name: string, more: Partial<CniSandbox> = {}): Promise<{ pod: TestNetns; sandbox: CniSandbox }> {
    const pod = await this.#lab.create()
    return {
      pod,
      sandbox: {
        containerId: `plt-${name}`,
        netnsPath: `/run/netns/${pod.name}`,
        ifName: 'eth0',
        podNamespace: 'default',
        podName: name,
        podUid: `uid-${name}`,
        ...more,
      },
    }
  }

  /** Takes the namespace of a pod that has its network; resolves when the kernel has taken its link, too, which it does a while later. */
  async removePod({ name }: TestNetns): Promise<void> {
    const { links } = await this.traces()
    await this.#lab.removeOne(name)
    const isGone = async () => (await this.traces()).links.length < links.length
    await untilAsync('the link of the pod is gone', isGone, 30_000)
  }

  /** What an ADD may leave on a node, to be compared before and after. */
  async traces(): Promise<{ addresses: string[]; results: string[]; links: string[]; chains: string[] }> {
    const links = JSON.parse(await this.netns.exec('ip', '-json', 'link')) as { ifname: string }[]
    const saved = await this.netns.exec('iptables-save', '-t', 'nat')
    return {
      addresses: filesOf(this.ipamDir).filter((file) => /\/[0-9a-f.:]+$/.test(file)),
      results: filesOf(join(this.cacheDir, 'results')),
      links: links.map(({ ifname }) => ifname).filter((name) => name.startsWith('veth')),
      chains: saved
        .split('\n')
        .filter((line) => /^:CNI-(DN-)?[0-9a-f]{16,}/.test(line) || /-j CNI-(DN-)?[0-9a-f]{16,}/.test(line)),
    }
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), 'utf8')
  }
}

/** The bridge of the tests: RFC 2544 addresses, which nothing here routes anywhere. */
export function bridgeList(node: CniNode, cniVersion = '1.0.0', more: object = {}): object {
  const ipam = {
    type: 'host-local',
    dataDir: node.ipamDir,
    ranges: [[{ subnet: '198.18.7.0/24' }]],
    routes: [{ dst: '0.0.0.0/0' }],
  }
  const bridge = { type: 'bridge', bridge: 'cni-plt', isGateway: true, ipMasq: true, hairpinMode: true, ipam }
  const portmap = { type: 'portmap', snat: true, capabilities: { portMappings: true } }
  return { cniVersion, name: 'plt', plugins: [bridge, portmap], ...more }
}

function filesOf(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  } catch {
    return []
  }
}
