import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { CniRuntime, type CniSandbox, type CniSettings } from '../../src/node/cni/index.ts'
import { silentLogger } from '../../src/observe/logger.ts'
import { makeTemporaryFolder } from './temporary-folder.ts'

/** Plays what its folder `<name>.d` says: `COMMAND.out` on standard output, `COMMAND.sh` run first, exit code in `COMMAND.exit`. */
const script = `#!/bin/sh
d="$0.d"
n=$(ls "$d/calls" | wc -l)
n=$(printf %03d "$n")
env >"$d/calls/$n-$CNI_COMMAND.env"
cat >"$d/calls/$n-$CNI_COMMAND.stdin"
echo "$CNI_COMMAND \${0##*/}" >>"\${0%/*}/order"
[ ! -e "$d/$CNI_COMMAND.sh" ] || . "$d/$CNI_COMMAND.sh"
[ ! -e "$d/$CNI_COMMAND.out" ] || cat "$d/$CNI_COMMAND.out"
[ ! -e "$d/$CNI_COMMAND.exit" ] || exit "$(cat "$d/$CNI_COMMAND.exit")"
`

export interface FakePlugin {
  /** Standard output, exit code, and shell lines before both, of one command. */
  answer(command: string, answer: { out?: string | object; exit?: number; sh?: string }): void
  /** The JSON that the calls of a command read, in order. */
  inputs(command: string): Record<string, unknown>[]
  environments(command: string): Record<string, string>[]
  readonly path: string
}

export const okResult = {
  cniVersion: '1.0.0',
  interfaces: [{ name: 'eth0', mac: '02:00:00:00:00:01', sandbox: '/run/netns/plt-none' }],
  ips: [{ address: '198.18.0.2/24', gateway: '198.18.0.1', interface: 0 }],
  routes: [{ dst: '0.0.0.0/0' }],
  dns: {},
}

export const sandbox: CniSandbox = {
  containerId: 'c1',
  netnsPath: '/run/netns/plt-none',
  ifName: 'eth0',
  podNamespace: 'default',
  podName: 'web-0',
  podUid: 'uid-1',
}

/** Private folders for a runtime, with fake plugins in them. */
export class FakeCni {
  readonly folder: string
  readonly configDir: string
  readonly binDir: string
  readonly cacheDir: string

  constructor(test: TestContext) {
    this.folder = makeTemporaryFolder(test)
    this.configDir = join(this.folder, 'net.d')
    this.binDir = join(this.folder, 'bin')
    this.cacheDir = join(this.folder, 'cache')
    mkdirSync(this.configDir)
    mkdirSync(this.binDir)
    writeFileSync(join(this.binDir, 'script'), script)
    chmodSync(join(this.binDir, 'script'), 0o755)
  }

  /** Supports 0.4.0 to 1.0.0 and answers ADD with `okResult` unless the test configures another answer. */
  plugin(name: string, versions: readonly string[] = ['0.4.0', '1.0.0']): FakePlugin {
    const path = join(this.binDir, name)
    const folder = `${path}.d`
    mkdirSync(join(folder, 'calls'), { recursive: true })
    symlinkSync('script', path)
    const plugin: FakePlugin = {
      path,
      answer: (command, { out, exit, sh }) => {
        if (out !== undefined) {
          writeFileSync(join(folder, `${command}.out`), typeof out === 'string' ? out : JSON.stringify(out))
        }
        if (exit !== undefined) writeFileSync(join(folder, `${command}.exit`), String(exit))
        if (sh !== undefined) writeFileSync(join(folder, `${command}.sh`), sh)
      },
      inputs: (command) => this.#calls(folder, command, 'stdin').map((text) => JSON.parse(text)),
      environments: (command) =>
        this.#calls(folder, command, 'env').map((text) =>
          Object.fromEntries(text.split('\n').map((line) => line.split(/=(.*)/s, 2))),
        ),
    }
    plugin.answer('VERSION', { out: { cniVersion: '1.0.0', supportedVersions: versions } })
    plugin.answer('ADD', { out: okResult })
    return plugin
  }

  network(file: string, content: string | object): void {
    writeFileSync(join(this.configDir, file), typeof content === 'string' ? content : JSON.stringify(content))
  }

  /** A list of the named plugins at 1.0.0. */
  list(...plugins: readonly (string | { readonly type: string })[]): void {
    const entries = plugins.map((plugin) => (typeof plugin === 'string' ? { type: plugin } : plugin))
    this.network('10-test.conflist', { cniVersion: '1.0.0', name: 'test', plugins: entries })
  }

  runtime(more: Partial<CniSettings> = {}): CniRuntime {
    const { configDir, binDir, cacheDir } = this
    return new CniRuntime({ configDir, binDirs: [binDir], cacheDir, busyDelayMs: 5, log: silentLogger, ...more })
  }

  /** Commands with their plugin in the order in which they were called; VERSION apart. */
  order(): string[] {
    const file = join(this.binDir, 'order')
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
    return lines.filter((line) => !line.startsWith('VERSION'))
  }

  cacheFiles(): string[] {
    const results = join(this.cacheDir, 'results')
    return existsSync(results) ? readdirSync(results).sort() : []
  }

  #calls(folder: string, command: string, ending: string): string[] {
    const names = readdirSync(join(folder, 'calls')).sort()
    return names
      .filter((name) => name.endsWith(`-${command}.${ending}`))
      .map((name) => readFileSync(join(folder, 'calls', name), 'utf8'))
  }
}
