import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { type FolderOrder, findFileCircles, findFolderCircles, findOrderFaults } from '../helpers/folder-order.ts'
import { readSourceTree, roomOf } from '../helpers/source-tree.ts'

const leaves = ['model', 'loop', 'observe', 'config']
const shells = [...leaves, 'host', 'client', 'serve', 'pki']

/** Which rooms a room may import from, itself apart (docs/architecture.md, "The rooms"). A room that is not listed fails. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  model: [],
  netfilter: ['model'],
  config: ['model'],
  loop: ['model', 'observe'],
  observe: ['model', 'config', 'loop'],
  host: leaves,
  pki: leaves,
  client: leaves,
  serve: leaves,
  console: leaves,
  api: [...leaves, 'serve', 'pki'],
  controllers: [...leaves, 'client'],
  node: ['model', 'config'],
  'node/state': [...leaves, 'client'],
  'node/rules': [...leaves, 'host', 'netfilter'],
  'node/proxy': [...leaves, 'client', 'serve', 'netfilter', 'node/state', 'node/rules'],
  'node/policy': [...leaves, 'client', 'host', 'netfilter', 'node/state', 'node/rules'],
  'node/ingress': [...leaves, 'client', 'host', 'serve', 'node/state'],
  'node/control': [...leaves, 'serve', 'node/state'],
  'node/dns': [...leaves, 'host', 'client', 'serve', 'node/state'],
  'node/registration': [...leaves, 'client'],
  'node/cni': [...leaves, 'host', 'node/state'],
  'node/routes': [...leaves, 'host', 'client'],
  'node/pods': [...leaves, 'host', 'client', 'node/state', 'node/cni'],
  app: [
    ...shells,
    'console',
    'netfilter',
    'api',
    'controllers',
    'node',
    'node/state',
    'node/rules',
    'node/proxy',
    'node/policy',
    'node/ingress',
    'node/registration',
    'node/control',
    'node/dns',
    'node/cni',
    'node/pods',
    'node/routes',
  ],
  demo: [...leaves, 'host', 'client', 'serve', 'pki'],
  cli: [...shells, 'app', 'demo'],
  'main.ts': ['cli'],
}

/** Which parts of a folder may import which: those of levels before their own (`FolderOrder`). */
const orderWithin: Readonly<Record<string, FolderOrder>> = {
  'src/api': [
    'exact-json.ts identity.ts limits.ts query-switch.ts version.ts',
    'document.ts',
    'schema',
    'cel managed-fields patch status.ts',
    'store',
    'usage',
    'resources send-backup.ts',
    'allocation count-objects.ts negotiate request',
    'decode encode',
    'discovery',
    'openapi route',
    'access',
    'admission',
    'connect webhooks',
    'options.ts shares verbs',
    'bootstrap custom watch',
    'create-registry.ts metrics.ts pages.ts policy-status.ts request-span.ts',
    'request-handler.ts',
    'server.ts',
    'index.ts',
  ],
  'src/app': [
    'options.ts',
    'metric-groups.ts option-groups.ts',
    'live-options.ts',
    'context.ts',
    'listeners.ts',
    'option-conflicts.ts',
    'composition',
    'lifecycle',
    'commands',
  ],
  'src/controllers': [
    'controller-names.ts runtime',
    'base-context.ts objects',
    'context.ts',
    'addresses autoscaling certificates endpoints events garbage ingress namespaces nodes quota volumes',
    'scheduler',
    'workloads',
    'disruption',
    'controller-manager.ts',
    'index.ts options.ts',
  ],
  'src/node/dns': [
    'errors.ts metrics options.ts wire',
    'bind corefile kube-dns zone',
    'plugins',
    'feed http resolver',
    'serve',
    'threads',
    'configuration',
    'plane',
    'sources',
    'index.ts',
  ],
  'src/node/dns/plugins': [
    'client.ts other-plugins.ts',
    'handler.ts',
    'resolve-target.ts resolver-handler.ts',
    'bind errors forward health hosts kubernetes loadbalance log prometheus ready reload rewrite template',
    'cache loop',
    'metric-specs.ts resolved-block.ts served-block.ts server-block.ts',
    'directives.ts handlers.ts resolver-handlers.ts',
  ],
}

/** Packages that only their own room may use; what is not listed is free to all but the pure rooms. */
const packageOwners: Readonly<Record<string, readonly string[]>> = {
  execa: ['host'],
  'node:child_process': ['host'],
  pino: ['observe'],
  'pino-pretty': ['observe'],
  'prom-client': ['observe'],
  '@opentelemetry/api': ['observe'],
  '@opentelemetry/exporter-trace-otlp-grpc': ['observe'],
  '@opentelemetry/exporter-trace-otlp-http': ['observe'],
  '@opentelemetry/exporter-trace-otlp-proto': ['observe'],
  '@opentelemetry/resources': ['observe'],
  axios: ['client'],
  commander: ['cli'],
  dns2: ['cli'],
  undici: ['node/ingress'],
  'ipaddr.js': ['model'],
  '@peculiar/x509': ['pki'],
  'node:sqlite': ['api'],
  '@grpc/grpc-js': ['api'],
  'protobufjs/light.js': ['api'],
}

/** Parts of a room that are pure while the room has a shell. */
const pureFolders =
  /^src\/node\/(pods\/volumes\/plan-|ingress\/(haproxy\/(certificates|command|config|counters|diff(-[a-z]+)?|hold-table|holding|isolate|map-entries|profile|read-holding|rules|settings|status-codes)|explain-others|explain-url|match|host-pattern|own-ingresses|planned-backends|planned-hosts|sorted-map)\.ts$|policy\/(address-spans|compiled-policy|effect|evaluate|explain-policy|matrix|pod-groups|reach|relations|verdict)\.ts$|dns\/((wire|zone|corefile)\/|plugins\/(hosts|kubernetes|loadbalance|rewrite|template)\/|plugins\/.*directives?\.ts$|configuration\/(read-corefile|named-files)\.ts$))/

const purePackages = ['node:crypto', 'node:net', 'node:util', 'ipaddr.js', 'zod', 're2js']
const impureCalls = /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bprocess\.|\bsetTimeout\(|\bfetch\(|\bconsole\./

const files = readSourceTree('src/**/*.ts')

function isPure(file: string): boolean {
  return (
    ['model', 'netfilter'].includes(roomOf(file)) ||
    /^src\/node\/[a-z-]+\/plan(-[a-z-]+)?\.ts$/.test(file) ||
    pureFolders.test(file)
  )
}

describe('the import rules of the house', () => {
  for (const file of files) {
    test(`${file.path} imports only from where its room may`, () => {
      const room = roomOf(file.path)
      const allowed = mayImport[room]
      assert.ok(allowed, `the room ${room} is not in the map: add it here and to docs/architecture.md`)
      for (const target of file.localImports) {
        assert.ok(existsSync(target), `${target} does not exist`)
        assert.ok(roomOf(target) === room || allowed.includes(roomOf(target)), `${room} may not import ${target}`)
      }
      for (const name of file.packageImports) {
        const owners = packageOwners[name]
        assert.ok(!owners || owners.includes(room), `only ${owners?.join(', ')} may import ${name}`)
      }
    })
  }

  for (const file of files.filter((candidate) => isPure(candidate.path))) {
    test(`${file.path} is pure: no I/O, clock, environment or logger`, () => {
      for (const name of file.packageImports)
        assert.ok(purePackages.includes(name), `a pure file may not import ${name}`)
      for (const target of file.localImports) assert.ok(!/^src\/(observe|host|client)\//.test(target), target)
      assert.doesNotMatch(file.text, impureCalls)
    })
  }

  test('the map has no way round: no two rooms may import each other', () => {
    for (const [room, targets] of Object.entries(mayImport)) {
      for (const target of targets) {
        const back = mayImport[target]?.includes(room) ?? false
        assert.ok(!back || isSharedLeafPair(room, target), `${room} and ${target} may import each other`)
      }
    }
  })

  for (const [folder, order] of Object.entries(orderWithin)) {
    test(`the parts of ${folder} import each other in their order only`, () => {
      assert.deepEqual(findOrderFaults(folder, order, files), [])
    })
  }

  test('no file imports itself by way of others', () => {
    assert.deepEqual(findFileCircles(files), [])
  })

  test('the direct subfolders of a folder have no circles of imports between them', () => {
    assert.deepEqual(findFolderCircles(files), [])
  })

  test('findFolderCircles names the subfolders of a circle, at any depth', () => {
    const file = (path: string, ...localImports: string[]) => ({ path, text: '', localImports, packageImports: [] })
    const circle = [file('src/a/b/one.ts', 'src/a/c/d/two.ts'), file('src/a/c/three.ts', 'src/a/b/four.ts')]
    assert.deepEqual(findFolderCircles(circle), [['src/a/b', 'src/a/c']])
    assert.deepEqual(
      findFolderCircles([file('src/a/b/one.ts', 'src/a/two.ts'), file('src/a/two.ts', 'src/a/b/one.ts')]),
      [],
    )
  })

  test('the server side and the node side know nothing of each other', () => {
    for (const file of files) {
      const others = strangers[sideOf(file.path)] ?? []
      for (const target of file.localImports)
        assert.ok(!others.includes(sideOf(target)), `${file.path} imports ${target}`)
    }
  })
})

/** Between these there is only the API over HTTP. */
const strangers: Readonly<Record<string, readonly string[]>> = {
  api: ['node', 'controllers'],
  controllers: ['node', 'api'],
  node: ['api', 'controllers'],
}

function sideOf(file: string): string {
  return roomOf(file).split('/')[0] ?? ''
}

/** `loop/component.ts` is the contract that health reports read, `observe/logger.ts` the one that loops write to. */
function isSharedLeafPair(one: string, other: string): boolean {
  return [one, other].sort().join() === 'loop,observe'
}

describe('the habits of the house', () => {
  test('OpenTelemetry is loaded only where spans are exported', () => {
    const staticImport =
      /^(?:import|export) (?!type\b)[^']*?from '(?:@opentelemetry\/|[^']*\/(?:tracing|otlp-exporter)\.ts')/m
    const users = files.filter(({ text }) => staticImport.test(text)).map(({ path }) => path)
    assert.deepEqual(users, ['src/observe/tracing/tracing.ts'])
    const importers = files.filter(({ text }) => text.includes("import('../../observe/tracing/tracing.ts')"))
    assert.deepEqual(
      importers.map(({ path }) => path),
      ['src/app/composition/compose-tracing.ts'],
    )
  })

  test('an agent reads the code of a plane, or of its console, only if it serves it', () => {
    const byPath = new Map(files.map((file) => [file.path, file]))
    const found = new Set<string>(['src/app/composition/compose-agent.ts'])
    for (const path of found) {
      const statements = byPath.get(path)?.text.matchAll(/^(?:import|export) (?!type\b)[^']*?from '(\.[^']+)'/gm) ?? []
      for (const [, target = ''] of statements) found.add(join(dirname(path), target))
    }
    assert.ok(found.size > 100, `only ${found.size} files found`)
    const early = [...found].filter((path) => /^src\/(console|node\/(dns|ingress|policy|proxy))\//.test(path))
    assert.deepEqual(early, [])
  })

  test('only main.ts ends the process', () => {
    for (const file of files.filter(({ path }) => path !== 'src/main.ts' && !path.endsWith('.program.ts'))) {
      assert.doesNotMatch(file.text, /process\.(exit\(|exitCode\s*=)/, file.path)
    }
  })

  test('only model/dialect.ts spells the identifiers that differ between dialects', () => {
    for (const file of files.filter(({ path }) => path !== 'src/model/dialect.ts')) {
      assert.doesNotMatch(
        file.text,
        /'(networking|discovery|apiextensions)\.k8s\.io'|'kubernetes\.io\/service-name'/,
        file.path,
      )
    }
  })

  test('tests that share a process have no hooks and no time limits outside of a suite or a test', () => {
    for (const { path, text } of readSourceTree('test/{golden,unit}/**/*.test.ts')) {
      assert.doesNotMatch(text, /^(before|beforeEach|afterEach)\(|^const \w+ = [^=]*AbortSignal\.timeout/m, path)
    }
  })

  test('every room tells in a README what it is', () => {
    for (const room of new Set(files.map(({ path }) => roomOf(path)).filter((name) => name !== 'main.ts'))) {
      assert.ok(existsSync(`src/${room}/README.md`), `src/${room}/README.md is missing`)
    }
  })
})
