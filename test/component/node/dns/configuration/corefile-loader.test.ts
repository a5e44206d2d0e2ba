import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import {
  type ConfigMapData,
  type CorefileOrigin,
  loadCorefile,
} from '../../../../../src/node/dns/configuration/corefile-loader.ts'
import { readInputs } from '../../../../../src/node/dns/configuration/inputs.ts'
import { optionsWithoutEffect } from '../../../../../src/node/dns/configuration/without-effect.ts'
import { CorefileError } from '../../../../../src/node/dns/corefile/errors.ts'
import { makeTemporaryFolder } from '../../../../helpers/temporary-folder.ts'

const origin: CorefileOrigin = {
  file: undefined,
  configMap: undefined,
  configMapFiles: [],
  clusterDomain: 'cluster.local',
  env: { SECRET: 'example.org' },
}

function loadConfigMap(data: ConfigMapData, configMapFiles: readonly string[] = []) {
  return loadCorefile({ ...origin, configMap: data, configMapFiles })
}

function block(...lines: readonly string[]): string {
  return `.:53 {\n${lines.join('\n')}\n}\n`
}

/** The message of the CorefileError with which the block is refused. */
function refusalOf(text: string, configMapFiles: readonly string[] = []): string {
  try {
    loadConfigMap({ Corefile: text }, configMapFiles)
  } catch (error) {
    assert.ok(error instanceof CorefileError, `${error}`)
    return error.message
  }
  return assert.fail(`${text} was accepted`)
}

describe('a Corefile of the ConfigMap', () => {
  for (const [line, plugin] of [
    ['hosts /dev/zero', 'hosts: /dev/zero'],
    ['hosts /etc/hosts', 'hosts: /etc/hosts'],
    ['hosts /etc/resolv.conf', 'hosts: /etc/resolv.conf'],
    ['hosts relative', 'hosts: relative'],
    ['loadbalance weighted /etc/shadow', 'loadbalance: /etc/shadow'],
    ['forward . /etc/shadow', 'forward: /etc/shadow'],
    ['forward . 192.0.2.1 /etc/../etc/resolv.conf', 'forward: /etc/../etc/resolv.conf'],
    ['forward . /etc/coredns/../shadow', 'forward: /etc/coredns/../shadow'],
    ['import /etc/passwd', 'import /etc/passwd'],
    ['import Corefile.d', 'import Corefile.d'],
  ] as const) {
    test(`names no file of the node: ${line}`, () => {
      const start = `ConfigMap kube-system/coredns:3 - ${plugin}: a ConfigMap may name only those files`
      const message = refusalOf(block('errors', line))
      assert.ok(message.startsWith(start), message)
    })
  }

  test('names no file of TLS, in the line of that option', () => {
    const message = refusalOf(block('forward . tls://192.0.2.1 {', 'expire 10s', 'tls /ca.pem', '}'))
    assert.match(message, /^ConfigMap kube-system\/coredns:4 - forward: tls: \/ca\.pem: /)
  })

  test('reads nothing by a pattern, and no environment', () => {
    const { corefile, text } = loadConfigMap({
      Corefile: `{$SECRET}.:53 {\nimport /etc/*\nimport custom/*.override\n}`,
    })
    assert.equal(corefile.blocks[0]?.keys[0]?.zone.length, 1)
    assert.doesNotMatch(text, /root:/)
  })

  test("forwards to the node's resolver file", () => {
    const { corefile } = loadConfigMap({ Corefile: block('forward . /etc/resolv.conf') })
    assert.equal(corefile.blocks[0]?.forward[0]?.to[0]?.kind, 'file')
  })

  test('names what the option lists, for any plugin', () => {
    const listed = ['/etc/hosts', '/ca.pem']
    const loaded = loadConfigMap(
      { Corefile: block('hosts /etc/hosts', 'forward . tls://192.0.2.1 {\ntls /ca.pem\n}') },
      listed,
    )
    assert.equal(loaded.corefile.blocks[0]?.hosts?.file, '/etc/hosts')
    assert.match(refusalOf(block('hosts /etc/hostname'), listed), /hosts: \/etc\/hostname: /)
  })

  test('has the entries of its hosts block, and not those of the node', async () => {
    const loaded = loadConfigMap({ Corefile: block('hosts {', '192.0.2.1 a.example', 'fallthrough', '}') })
    assert.deepEqual(loaded.corefile.blocks[0]?.hosts?.inline, ['192.0.2.1 a.example'])
    assert.deepEqual([...(await readInputs(loaded, undefined)).hostsTexts], [])
    assert.deepEqual(optionsWithoutEffect(loaded), [
      'ConfigMap kube-system/coredns:2 - hosts: /etc/hosts of the node is not read for a ConfigMap',
    ])
  })

  test('finds the other keys of the ConfigMap where CoreDNS has them mounted', async () => {
    const loaded = loadConfigMap({
      Corefile: block('hosts /etc/coredns/NodeHosts', 'import *.override', 'import /etc/coredns/more'),
      NodeHosts: '192.0.2.1 node-1\n',
      'one.override': 'errors',
      more: 'log\n',
    })
    const [served] = loaded.corefile.blocks
    assert.ok(served?.errors)
    assert.equal(served.log.length, 1)
    const { hostsTexts } = await readInputs(loaded, undefined)
    assert.deepEqual([...hostsTexts], [['/etc/coredns/NodeHosts', '192.0.2.1 node-1\n']])
    assert.throws(
      () => loadConfigMap({ Corefile: block('import more'), more: 'errors\nwhoops' }),
      /^CorefileError: ConfigMap kube-system\/coredns, more:2 - /,
    )
    assert.throws(() => loadConfigMap({ Corefile: block('import Corefile') }), /cannot import itself/)
  })

  test('imports a file that comes later than the pattern that names it', () => {
    const Corefile = block('log', 'import *.override')
    const before = loadConfigMap({ Corefile })
    const again = loadCorefile({ ...origin, configMap: { Corefile } }, before)
    assert.equal(again.text, before.text)
    const data = { Corefile, 'late.override': 'errors' }
    const after = loadCorefile({ ...origin, configMap: data }, before)
    assert.notEqual(after.text, before.text)
    assert.notDeepEqual(after.corefile, before.corefile)
  })

  test('is refused without the key Corefile', () => {
    assert.throws(() => loadConfigMap({ corefile: block('errors') }), /coredns:1 - expected the key Corefile/)
  })

  test('cannot grow by snippets that import one another', () => {
    const snippets = Array.from({ length: 9 }, (_, at) => `(s${at + 1}) {\n${`import s${at}\n`.repeat(9)}}\n`)
    const startedMs = performance.now()
    const message = refusalOf(`(s0) {\n${'errors\n'.repeat(50)}}\n${snippets.join('')}.:53 {\nimport s9\n}\n`)
    assert.match(message, /more than 200000 words|snippets import one another/)
    assert.ok(performance.now() - startedMs < 2_000)
  })

  test('costs little where it imports much that is empty', () => {
    const many = `(none) {\n}\n.:53 {\n${'import none\n'.repeat(9_000)}hosts {\n${'192.0.2.1 a\n'.repeat(50_000)}}\n}\n`
    const startedMs = performance.now()
    assert.equal(loadConfigMap({ Corefile: many }).corefile.blocks[0]?.hosts?.inline.length, 50_000)
    assert.ok(performance.now() - startedMs < 3_000)
  })
})

describe('a Corefile of a file', () => {
  test('reads what it names, links too', async (t) => {
    const folder = makeTemporaryFolder(t)
    const at = (name: string) => join(folder, name)
    writeFileSync(at('Corefile'), `${block(`hosts ${at('link')}`, 'import part', `forward . ${at('resolv')}`)}`)
    writeFileSync(at('part'), 'errors\n')
    writeFileSync(at('hosts'), '192.0.2.1 a\n')
    writeFileSync(at('resolv'), 'nameserver 192.0.2.53\n')
    symlinkSync('hosts', at('link'))
    const loaded = loadCorefile({ ...origin, file: at('Corefile') })
    assert.ok(loaded.corefile.blocks[0]?.errors)
    const { hostsTexts, nameservers, missing } = await readInputs(loaded, undefined)
    assert.deepEqual([...hostsTexts.values()], ['192.0.2.1 a\n'])
    assert.deepEqual([...nameservers.values()], [['192.0.2.53']])
    assert.deepEqual(missing, [])
  })

  test('reads no device, FIFO, folder or huge file, and says where it is named', async (t) => {
    const folder = makeTemporaryFolder(t)
    const at = (name: string) => join(folder, name)
    execFileSync('mkfifo', [at('fifo')])
    mkdirSync(at('folder'))
    writeFileSync(at('huge'), '')
    truncateSync(at('huge'), 2 ** 33)
    symlinkSync('/dev/zero', at('link'))
    for (const name of ['fifo', 'folder', 'huge', 'link', '/dev/zero']) {
      const path = name.startsWith('/') ? name : at(name)
      for (const line of [`hosts ${path}`, `loadbalance weighted ${path}`, `forward . ${path}`]) {
        writeFileSync(at('Corefile'), block('errors', line))
        const loaded = loadCorefile({ ...origin, file: at('Corefile') })
        const plugin = line.split(' ')[0]
        await assert.rejects(readInputs(loaded, undefined), (error: unknown) => {
          assert.ok(error instanceof CorefileError)
          assert.ok(error.message.startsWith(`${at('Corefile')}:3 - ${plugin}: ${path} is `), error.message)
          return true
        })
      }
      writeFileSync(at('Corefile'), block('errors', `import ${path}`))
      assert.throws(() => loadCorefile({ ...origin, file: at('Corefile') }), {
        code: 'import',
        message: new RegExp(`Corefile:3 - import ${path}: ${path} is `),
      })
      assert.throws(() => loadCorefile({ ...origin, file: path }), /is (a|larger)/)
    }
  })

  test('names file and line of an import that fails', (t) => {
    const folder = makeTemporaryFolder(t)
    writeFileSync(join(folder, 'Corefile'), block('errors', 'import missing.conf'))
    assert.throws(() => loadCorefile({ ...origin, file: join(folder, 'Corefile') }), {
      code: 'import',
      message: `${folder}/Corefile:3 - import missing.conf: ${folder}/missing.conf does not exist`,
    })
  })

  test('serves without a missing hosts file, and keeps the nameservers of a resolver file that is empty', async (t) => {
    const folder = makeTemporaryFolder(t)
    const file = join(folder, 'Corefile')
    const resolver = join(folder, 'resolv')
    writeFileSync(file, block('hosts /nowhere/hosts', `forward . ${resolver}`))
    const loaded = loadCorefile({ ...origin, file })
    const at = `${file}:3 - forward: ${resolver}`
    assert.deepEqual((await readInputs(loaded, undefined)).faults, [`${at} does not exist`])
    writeFileSync(resolver, 'nameserver 192.0.2.53\n')
    const sound = await readInputs(loaded, undefined)
    assert.deepEqual(sound.faults, [])
    assert.deepEqual(sound.missing, [`${file}:2 - hosts: /nowhere/hosts does not exist`])
    writeFileSync(resolver, '')
    const empty = await readInputs(loaded, sound)
    assert.deepEqual(empty.nameservers.get(resolver), ['192.0.2.53'])
    assert.deepEqual(empty.faults, [`${at} names no nameserver`])
  })
})
