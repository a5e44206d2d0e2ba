import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { runIsolated } from '../../src/demo/isolate.ts'
import { skipReason } from '../helpers/netns.ts'

const root = resolve(import.meta.dirname, '../..')

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

/** `list services`, `create events.k8s.io/events`, `watch kube-system/configmaps coredns`: one line for each right of the manifest. */
function rightsOfManifest(): string[] {
  const documents = parseAllDocuments(readFileSync(`${root}/deploy/kubernetes/rbac.yaml`, 'utf8'))
  return documents.flatMap((document) => {
    const { metadata, rules = [] }: { metadata: { namespace?: string }; rules?: Rule[] } = document.toJS()
    return rules.flatMap(({ apiGroups, resources, resourceNames = [''], verbs }) =>
      verbs.flatMap((verb) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) =>
            resourceNames.map((name) => describe(verb, { group, namespace: metadata.namespace, resource, name })),
          ),
        ),
      ),
    )
  })
}

/** The right that a request needs; undefined for documents that every identity may read. */
function rightOf(method: string, url: string): string | undefined {
  const { pathname, searchParams } = new URL(url, 'https://localhost')
  const found = /^\/(?:api|apis\/([^/]+))\/v1\/(?:namespaces\/([^/]+)\/)?([^/]+)(?:\/([^/]+))?$/.exec(pathname)
  if (found === null) return undefined
  const [, group = '', namespace, resource = '', named = ''] = found
  const fixed = /^metadata\.name=(.*)$/.exec(searchParams.get('fieldSelector') ?? '')?.[1]
  const verbs: Record<string, string> = { POST: 'create', PATCH: 'patch', PUT: 'update', DELETE: 'delete' }
  const reading = searchParams.has('watch') ? 'watch' : named === '' ? 'list' : 'get'
  const isWide = resource === 'events' || (resource === 'nodes' && named === '')
  const name = isWide ? '' : named || fixed || ''
  const scope = namespace === undefined || isWide ? undefined : namespace
  return describe(verbs[method] ?? reading, { group, namespace: scope, resource, name })
}

function describe(
  verb: string,
  {
    group,
    namespace,
    resource,
    name,
  }: { group: string; namespace: string | undefined; resource: string; name: string },
): string {
  const kind = [namespace, group, resource].filter(Boolean).join('/')
  return `${verb} ${kind} ${name}`.trim()
}

test("beside a kubelet the README's command works as it stands, with exactly the rights of the manifest", {
  skip: skipReason('iptables', 'nft', 'unshare', '/usr/lib/cni/bridge'),
}, async () => {
  const readme = readFileSync(`${root}/README.md`, 'utf8')
  const [command] = readme.match(/^scripts\/platnet agent --kubeconfig \/etc\/platnet\/agent\.kubeconfig .*$/m) ?? []
  assert.ok(command, 'the README has the command')
  const program = resolve(import.meta.dirname, 'beside-kubelet.program.ts')
  const signal = AbortSignal.timeout(240_000)
  const { exitCode, stdout } = await runIsolated(program, [command], { signal, stdout: 'pipe' })
  assert.equal(exitCode, 0, 'the program failed; its output is above')
  const seen = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
  const asked: { method: string; url: string; code: number }[] = seen.asked
  assert.deepEqual(
    asked.filter(({ code }) => code === 403).map(({ method, url }) => `${method} ${url}`),
    [],
  )
  const used = new Set(asked.map(({ method, url }) => rightOf(method, url)).filter((right) => right !== undefined))
  assert.deepEqual([...used].sort(), rightsOfManifest().sort())
  const { plugins } = JSON.parse(seen.list)
  assert.deepEqual(plugins[0].ipam.ranges, [[{ subnet: '10.244.3.0/24' }]])
  assert.deepEqual(
    plugins.map(({ type }: { type: string }) => type),
    ['bridge', 'portmap', 'platnet-gate'],
  )
  assert.match(seen.routes, /^10\.244\.4\.0\/24 via 192\.0\.2\.12 dev eth0\s*$/)
  assert.match(seen.answer, /192\.0\.2\.77/)
  assert.equal(seen.metrics, 200)
})
