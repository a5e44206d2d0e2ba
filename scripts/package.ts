// Builds the Debian package: `npm run package [-- --arch arm64] [--out FOLDER] [--compression xz|none]`. The same commit gives the same bytes.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  globSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { readBuildInfo } from '../src/observe/index.ts'
import { bundleProgram } from './package/bundle.ts'
import { architectures, checksums, conffiles, controlFile, debianVersion, type Release } from './package/control.ts'
import { stagePackage } from './package/stage.ts'

const checkout = resolve(import.meta.dirname, '..')
const maintainerScripts = ['preinst', 'postinst', 'prerm', 'postrm']

type Architecture = keyof typeof architectures

/** Runs a program and returns its standard output; ends with its message where it fails. */
function run(file: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  const result = spawnSync(file, args, { cwd: checkout, encoding: 'utf8', env: { ...process.env, ...env } })
  if (result.status !== 0) throw new Error(`${file} ${args.join(' ')}: ${result.error?.message ?? result.stderr}`)
  return result.stdout
}

function readRelease(version: string | undefined): Release {
  const { version: own, description, commit } = readBuildInfo(checkout)
  if (commit === undefined) throw new Error('the commit is not known: run this in a checkout with git')
  return {
    version: version ?? own,
    description,
    commit,
    commitSeconds: Number(run('git', ['log', '-1', '--format=%ct', commit])),
    isChanged: run('git', ['status', '--porcelain', '--untracked-files=no']) !== '',
  }
}

/** The folder with Node for the architecture: that of this machine is installed already, another is fetched once into .cache. */
function findNode(architecture: Architecture): string {
  const name = `node-linux-${architecture}`
  const installed = join(checkout, 'node_modules', name)
  if (existsSync(installed)) return installed
  const { optionalDependencies } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'))
  const folder = join(checkout, '.cache', `${name}-${optionalDependencies[name]}`)
  if (!existsSync(join(folder, 'bin/node'))) {
    mkdirSync(folder, { recursive: true })
    const archive = run('npm', [
      'pack',
      '--silent',
      '--pack-destination',
      folder,
      `${name}@${optionalDependencies[name]}`,
    ])
    run('tar', ['-xzf', join(folder, archive.trim()), '-C', folder, '--strip-components=1'])
    rmSync(join(folder, archive.trim()))
  }
  return folder
}

/** Takes the symbols out of Node, a quarter of its size. Without a `strip` for the architecture they stay. */
function stripNode(file: string, architecture: Architecture): void {
  const prefix = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' }[architecture]
  const result = spawnSync(`${prefix}-strip`, ['--strip-all', '--enable-deterministic-archives', file])
  if (result.status !== 0)
    console.error(
      `${prefix}-strip is missing: Node keeps its symbols (Debian: binutils-${prefix.replaceAll('_', '-')})`,
    )
}

/** Paths of all files and links below a folder, sorted. */
function listFiles(root: string): readonly string[] {
  return globSync('**', { cwd: root, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort()
}

function writeControl(root: string, release: Release, architecture: Architecture): void {
  const files = listFiles(root)
  const sizes = files.map((path) => statSync(join(root, path)).size)
  const folder = join(root, 'DEBIAN')
  mkdirSync(folder)
  const contents = files.filter((path) => !conffiles.includes(`/${path}`) && path !== 'usr/bin/platnet')
  const texts = {
    control: controlFile(
      release,
      architectures[architecture],
      sizes.reduce((sum, size) => sum + size, 0),
    ),
    conffiles: conffiles.map((path) => `${path}\n`).join(''),
    md5sums: checksums(new Map(contents.map((path) => [path, readFileSync(join(root, path))]))),
  }
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text, { mode: 0o644 })
  for (const name of maintainerScripts)
    writeFileSync(join(folder, name), readFileSync(join(checkout, 'packaging/debian', name)), { mode: 0o755 })
}

/** Gives every file and folder the time of the commit and rights that do not depend on the umask. */
function makeUniform(root: string, seconds: number): void {
  for (const entry of globSync('**', { cwd: root, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const isForAll = entry.isDirectory() || (lstatSync(path).mode & 0o100) !== 0
    if (!entry.isSymbolicLink()) chmodSync(path, isForAll ? 0o755 : 0o644)
    lutimesSync(path, seconds, seconds)
  }
}

async function buildPackage(options: ReturnType<typeof readOptions>): Promise<string> {
  const { architecture, out, compression } = options
  const release = readRelease(options.version)
  const root = mkdtempSync(join(tmpdir(), 'platnet-package-'))
  try {
    chmodSync(root, 0o755)
    const bundle = await bundleProgram(checkout)
    await stagePackage({ checkout, root, release, bundle, nodeFolder: findNode(architecture) })
    stripNode(join(root, 'usr/lib/platnet/bin/node'), architecture)
    writeControl(root, release, architecture)
    makeUniform(root, release.commitSeconds)
    mkdirSync(out, { recursive: true })
    const file = join(out, `platnet_${debianVersion(release)}_${architectures[architecture]}.deb`)
    // Two threads, however many cores there are: their number shapes the bytes.
    const how = ['--root-owner-group', `-Z${compression}`, ...(compression === 'xz' ? ['-z9', '-Sextreme'] : [])]
    run('dpkg-deb', [...how, '--threads-max=2', '--build', root, file], {
      SOURCE_DATE_EPOCH: String(release.commitSeconds),
    })
    return file
  } finally {
    rmSync(root, { recursive: true })
  }
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      arch: { type: 'string', default: architectures[process.arch as Architecture] },
      out: { type: 'string', default: join(checkout, '.cache/package') },
      compression: { type: 'string', default: 'xz' },
      version: { type: 'string' },
    },
  })
  const found = Object.entries(architectures).find(([, name]) => name === values.arch)
  if (found === undefined) throw new Error(`--arch: expected one of ${Object.values(architectures).join(', ')}`)
  if (values.compression !== 'xz' && values.compression !== 'none')
    throw new Error('--compression: expected xz or none')
  if (values.version !== undefined && !/^\d[\w.~]*$/.test(values.version)) throw new Error('--version: expected 1.2.3')
  const { compression, version } = values
  return { architecture: found[0] as Architecture, out: resolve(values.out), compression, version }
}

const file = await buildPackage(readOptions())
console.log(`${file}: ${(statSync(file).size / 1e6).toFixed(1)} MB`)
