import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { type Bundle, bundleProgram } from '../../../scripts/package/bundle.ts'
import { controlFile, debianVersion } from '../../../scripts/package/control.ts'
import { launcher, stagePackage } from '../../../scripts/package/stage.ts'
import { runProgram } from '../../../src/host/index.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { until } from '../../helpers/until.ts'

const checkout = resolve(import.meta.dirname, '../../..')
const release = {
  version: '1.2.3',
  description: 'A program: it works',
  commit: 'ab'.repeat(20),
  commitSeconds: 1e9,
  isChanged: false,
}
const timeoutMs = 20_000
const homePath = 'usr/lib/platnet/'
/** Started from outside: the link in /usr/bin leads to it. */
const launched = ['scripts/platnet']

describe('the files of the package', () => {
  let root: string
  let bundle: Bundle
  let files: readonly string[]

  before(async () => {
    root = mkdtempSync(join(tmpdir(), 'platnet-stage-'))
    bundle = await bundleProgram(checkout)
    // A folder with the name and license of Node, and a program in its place.
    const nodeFolder = join(checkout, 'node_modules', `node-linux-${process.arch}`)
    await stagePackage({ checkout, root, release, bundle, nodeFolder })
    files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
      (name) => !statSync(join(root, name)).isDirectory(),
    )
  })
  after(() => rmSync(root, { recursive: true }))

  test('none is a test, a benchmark, a source or of a library for developers', () => {
    assert.deepEqual(
      files.filter((name) => /\.ts$|\.md$|(^|\/)(test|bench|node_modules)\//.test(name)),
      [],
    )
    const { devDependencies } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'))
    const forDevelopers = Object.keys(devDependencies).map((name) => `node_modules/${name}/`)
    assert.deepEqual(
      bundle.inputs.filter((name) => forDevelopers.some((folder) => name.startsWith(folder))),
      [],
    )
  })

  test('no message of a library is there in a language other than English', () => {
    const texts = [...bundle.outputs.values()].join('')
    assert.match(texts, /Invalid input: expected/)
    assert.doesNotMatch(texts, /Ungültige Eingabe|Ung\\xFCltige Eingabe/)
  })

  test('each module of the bundle is loaded by the program, or by what it starts', () => {
    const reached = new Set<string>(['src/main.js'])
    for (const name of reached) for (const next of bundle.loads.get(name) ?? []) reached.add(next)
    assert.deepEqual(
      [...bundle.outputs.keys()].filter((name) => !reached.has(name)),
      [],
    )
  })

  test('each other file of the program is named by a module, and each that a module names is there', () => {
    const home = join(root, 'usr/lib/platnet')
    const isBinary = (name: string) => name === 'bin/node'
    const names = files.filter((name) => name.startsWith(homePath)).map((name) => name.slice(homePath.length))
    const texts = new Map(
      names.filter((name) => !isBinary(name)).map((name) => [name, readFileSync(join(home, name), 'utf8')]),
    )
    const isNamed = (name: string) =>
      [...texts].some(([other, text]) => other !== name && text.includes(basename(name)))
    assert.deepEqual(
      names.filter((name) => !bundle.outputs.has(name) && !launched.includes(name) && !isNamed(name)),
      [],
    )
    const named = [...[...texts.values()].join('\n').matchAll(/platnetRoot\s*\+\s*"([^"]+)"\)?,\s*"([^"]+)"/g)]
    assert.ok(named.length >= 4, `${named.length} names`)
    for (const [, folder = '', name = ''] of named)
      assert.ok(existsSync(resolve(home, folder, name)), `${folder} ${name}`)
  })

  test('a module of the bundle loads what it needs from the bundle or from Node', () => {
    const required = [...bundle.outputs.values()].flatMap((text) => [
      ...text.matchAll(/\b(?:__)?require\d*\("([^"]+)"\)/g),
    ])
    const names = new Set(required.map(([, name = '']) => name))
    // Libraries look for these and do without.
    for (const name of ['supports-color', 'bufferutil', 'utf-8-validate']) names.delete(name)
    assert.deepEqual(
      [...names].filter((name) => !isBuiltin(name)),
      [],
    )
    const loaders = [...bundle.outputs.values()].filter((text) => /\w=createRequire\(import\.meta\.url\)/.test(text))
    assert.equal(loaders.length, 0, 'a library makes a require of its own, which loads from node_modules')
  })

  test('a server starts from the package: store, certificates, threads', async () => {
    const dataDir = join(root, 'data')
    const ports = await Promise.all(
      ['secure', 'controller-manager', 'scheduler'].map(async (part) => `--${part}-port=${await findFreePort()}`),
    )
    const command = join(root, 'usr/lib/platnet/scripts/platnet')
    const env = { NODE_COMPILE_CACHE: '' }
    const args = ['server', `--data-dir=${dataDir}`, '--console=false', '--log-level=warn', ...ports]
    const server = await runProgram(command, args, { background: true, stdout: 2, stderr: 2, env })
    try {
      await until('its kubeconfig is written', () => existsSync(join(dataDir, 'admin.kubeconfig')), 20_000)
    } finally {
      server.kill('SIGTERM')
      await server.exited
    }
  })

  test("the API client of the package does not load Node's own client behind fetch", async () => {
    const [axios = ''] = Array.from(bundle.outputs).find(([, text]) => /AxiosError ?= ?class/.test(text)) ?? []
    const file = join(root, 'usr/lib/platnet', axios)
    // As src/main.ts does.
    const program = `for (const name of ['WebSocket', 'CloseEvent', 'MessageEvent'])
        Reflect.deleteProperty(process.getBuiltinModule('node:http'), name)
      await import(${JSON.stringify(file)})
      process.stdout.write(JSON.stringify(process.moduleLoadList.filter((name) => name.includes('deps/undici'))))`
    const { stdout } = await runProgram(process.execPath, ['--input-type=module', '-e', program], { timeoutMs })
    assert.equal(stdout, '[]')
  })

  test('the program runs from the package and says its commit', async () => {
    const env = { NODE_COMPILE_CACHE: '', HOME: '' }
    const { stdout } = await runProgram(join(root, 'usr/lib/platnet/scripts/platnet'), ['version', '-o', 'json'], {
      timeoutMs,
      env,
    })
    assert.deepEqual(JSON.parse(stdout).commit, release.commit)
  })

  test('each command has a manual page, and so has the configuration file', () => {
    const pages = files.filter((name) => name.startsWith('usr/share/man/')).map((name) => name.split('/').at(-1))
    for (const page of ['platnet.1.gz', 'platnet-run.1.gz', 'platnet-server-backup.1.gz', 'platnet-config.5.gz'])
      assert.ok(pages.includes(page), page)
    const text = gunzipSync(readFileSync(join(root, 'usr/share/man/man1/platnet-version.1.gz'))).toString()
    assert.match(text, /^\.SH NAME\nplatnet\\-version \\- prints the version/m)
  })

  test('the copyright file has the licenses of Node and of every library in the bundle', () => {
    const text = readFileSync(join(root, 'usr/share/doc/platnet/copyright'), 'utf8')
    for (const name of ['Node.js (bin/node)', 'zod ', '@peculiar/x509 ', 'commander '])
      assert.match(text, new RegExp(`^Files: ${name.replaceAll(/[().]/g, '\\$&')}`, 'm'))
  })

  for (const [words, expected] of [
    [['platnet', 'st'], ['status']],
    [['platnet', 'server', 'b'], ['backup']],
    [
      ['platnet', 'version', '--output', ''],
      ['text', 'wide', 'json', 'yaml'],
    ],
    [['platnet', 'completion', 'z'], ['zsh']],
  ] as const) {
    test(`bash completes "${words.join(' ')}" to ${expected.join(', ')}`, async () => {
      const file = join(root, 'usr/share/bash-completion/completions/platnet')
      const ask = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _platnet; printf "%s\\n" "\${COMPREPLY[@]}"`
      const script = `source "$1"; shift; ${ask}`
      const { stdout } = await runProgram('bash', ['-c', script, 'bash', file, ...words], { timeoutMs })
      assert.deepEqual(stdout.trim().split('\n'), expected)
    })
  }
})

test('sh can read the maintainer scripts, and none of them flushes a table', async () => {
  for (const name of ['preinst', 'postinst', 'prerm', 'postrm']) {
    const file = join(checkout, 'packaging/debian', name)
    await runProgram('sh', ['-n', file], { timeoutMs })
    assert.doesNotMatch(readFileSync(file, 'utf8'), /nft flush|iptables[^\n]* (-F|--flush)\b|ipset (flush|-F)/)
  }
})

test('a later commit is a newer version, and the version of a package without changes says nothing of them', async () => {
  const [older, newer] = [
    debianVersion(release),
    debianVersion({ ...release, commitSeconds: 1e9 + 60, commit: '00'.repeat(20) }),
  ]
  assert.match(older, /^1\.2\.3\+git20010909014640\.abababab$/)
  await runProgram('dpkg', ['--compare-versions', older, 'lt', newer], { timeoutMs })
  await runProgram('dpkg', ['--compare-versions', newer, 'lt', '1.2.4+git20000101000000.abababab'], { timeoutMs })
})

test('the control file names the architecture and what the program starts', () => {
  const text = controlFile(release, 'arm64', 2048)
  assert.match(text, /^Architecture: arm64$/m)
  assert.match(text, /^Installed-Size: 2$/m)
  for (const name of ['iptables', 'ipset', 'nftables', 'conntrack', 'iproute2', 'haproxy'])
    assert.match(text, new RegExp(`^Depends: .*\\b${name}\\b`, 'm'))
})

test('a launcher of another form is an error instead of a package that does not start', () => {
  assert.throws(() => launcher('exec node main.ts'), /expected .* once/)
})
