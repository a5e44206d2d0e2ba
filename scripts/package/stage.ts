// Lays out the files of the package in a folder.
import { chmodSync, copyFileSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { optionGroups } from '../../src/app/option-groups.ts'
import { describeCommand } from '../../src/cli/command-tree.ts'
import { completions } from '../../src/cli/completion/index.ts'
import { buildWholeProgram } from '../../src/cli/run-cli.ts'
import { type Bundle, writeBundle } from './bundle.ts'
import { changelog, type Release } from './control.ts'
import { copyrightFile } from './copyright.ts'
import { manPages } from './man-pages.ts'

export interface Stage {
  readonly checkout: string
  readonly root: string
  readonly release: Release
  readonly bundle: Bundle
  /** Folder of the npm package whose `bin/node` is installed. */
  readonly nodeFolder: string
}

const home = 'usr/lib/platnet'

/** Files of the checkout by their place in the package. */
const copied: Readonly<Record<string, string>> = {
  'systemd/platnet.service': 'usr/lib/systemd/system/platnet.service',
  'systemd/platnet-server.service': 'usr/lib/systemd/system/platnet-server.service',
  'systemd/platnet-agent.service': 'usr/lib/systemd/system/platnet-agent.service',
  'systemd/sysctl.d/90-platnet.conf': 'usr/lib/sysctl.d/90-platnet.conf',
  'systemd/modules-load.d/platnet.conf': 'usr/lib/modules-load.d/platnet.conf',
  'systemd/tmpfiles.d/platnet.conf': 'usr/lib/tmpfiles.d/platnet.conf',
  'packaging/etc/default/platnet': 'etc/default/platnet',
  'packaging/etc/default/platnet-agent': 'etc/default/platnet-agent',
  'packaging/etc/default/platnet-server': 'etc/default/platnet-server',
  'packaging/etc/platnet/config.yaml': 'etc/platnet/config.yaml',
  'cni/10-platnet.conflist': `${home}/cni/10-platnet.conflist`,
  'examples/hello.yaml': 'usr/share/doc/platnet/examples/hello.yaml',
}

export async function stagePackage(stage: Stage): Promise<void> {
  const { checkout, root, nodeFolder } = stage
  for (const [from, to] of Object.entries(copied)) put(root, to, readFileSync(join(checkout, from)))
  stageProgram(stage, join(root, home))
  mkdirSync(join(root, home, 'bin'), { recursive: true })
  copyFileSync(join(nodeFolder, 'bin/node'), join(root, home, 'bin/node'))
  chmodSync(join(root, home, 'bin/node'), 0o755)
  mkdirSync(join(root, 'usr/bin'), { recursive: true })
  symlinkSync('../lib/platnet/scripts/platnet', join(root, 'usr/bin/platnet'))
  await stageDocuments(stage)
}

/** Lays out the program without Node, which its launcher expects at `bin/node`. */
export function stageProgram({ checkout, release, bundle }: Omit<Stage, 'root' | 'nodeFolder'>, folder: string): void {
  for (const name of ['cni/platnet-gate', ...besideModules(checkout, bundle)])
    put(folder, name, readFileSync(join(checkout, name)), modeOf(name))
  writeBundle(bundle, folder)
  const { version, description } = release
  put(folder, 'package.json', `${JSON.stringify({ name: 'platnet', version, description, type: 'module' })}\n`)
  put(folder, 'commit', `${release.commit}\n`)
  put(folder, 'scripts/platnet', launcher(readFileSync(join(checkout, 'scripts/platnet'), 'utf8')), 0o755)
}

/** Files that modules read or start from beside themselves: whatever is neither a module, nor in the bundle, nor for developers. */
function besideModules(checkout: string, { inputs }: Bundle): readonly string[] {
  const files = globSync('src/**/*.*', { cwd: checkout }).filter((name) => !/\.(ts|md)$|\/tsconfig\.json$/.test(name))
  return files.filter((name) => !inputs.includes(name)).sort()
}

/** Programs are started by their interpreter or by name. */
function modeOf(name: string): number {
  return /\.(pl|sh)$|platnet-gate$/.test(name) ? 0o755 : 0o644
}

/** Makes the launcher of the checkout that of the package. Throws where a line that differs is not found. */
export function launcher(text: string): string {
  const changes = [
    ['$here/.cache/compiled', '/var/cache/platnet'],
    ['$here/src/main.ts', '$here/src/main.js'],
    ['$here/node_modules/.bin/node', '$here/bin/node'],
  ] as const
  return changes.reduce((changed, [from, to]) => {
    if (changed.split(from).length !== 2) throw new Error(`scripts/platnet: expected ${from} once`)
    return changed.replace(from, to)
  }, text)
}

async function stageDocuments({ checkout, root, release, bundle, nodeFolder }: Stage): Promise<void> {
  const silent = { write: () => true }
  const context = { env: {}, stdout: silent, stderr: silent, finish: () => {} }
  const program = describeCommand(await buildWholeProgram(context))
  const date = new Date(release.commitSeconds * 1000).toISOString().slice(0, 10)
  for (const { file, text } of manPages(program, optionGroups, { version: release.version, date }))
    put(root, `usr/share/man/man${file.at(-1)}/${file}.gz`, gzipSync(text, { level: 9 }))
  put(root, 'usr/share/bash-completion/completions/platnet', completions.bash(program))
  put(root, 'usr/share/zsh/vendor-completions/_platnet', completions.zsh(program))
  put(root, 'usr/share/fish/vendor_completions.d/platnet.fish', completions.fish(program))
  put(root, 'usr/share/doc/platnet/copyright', copyrightFile(checkout, bundle.inputs, nodeFolder))
  put(root, 'usr/share/doc/platnet/changelog.gz', gzipSync(changelog(release), { level: 9 }))
}

function put(root: string, path: string, content: string | Buffer, mode = 0o644): void {
  const file = join(root, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
  chmodSync(file, mode)
}
