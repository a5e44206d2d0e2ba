import assert from 'node:assert/strict'
import { type Lab, must, type Reply, tenantNamespace } from './lab.ts'
import type { Trial } from './trial.ts'

const own = `/api/v1/namespaces/${tenantNamespace}`
const configMaps = `${own}/configmaps`
const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
const yaml = { type: 'application/yaml' }
const jsonPatch = { type: 'application/json-patch+json' }
const mergePatch = { type: 'application/merge-patch+json' }
const strategicPatch = { type: 'application/strategic-merge-patch+json' }

const times = (count: number, text: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => text(index))

/** Answered, whatever the answer: neither a failure of the server nor a request that another must repeat. */
async function assertAnswered(what: string, reply: Promise<Reply>): Promise<void> {
  const { code, text } = await reply
  assert.ok(code < 500 && code !== 429, `${what}: answered ${code}: ${text.slice(0, 300)}`)
}

/** A review may be sent by each identity: its body reaches the decoders of all. */
async function sendReviews({ outsider }: Lab, bodies: Readonly<Record<string, string>>, type?: string): Promise<void> {
  for (const [what, body] of Object.entries(bodies)) {
    const path = `${reviews}?fieldValidation=Strict`
    await assertAnswered(what, outsider.call('POST', path, body, type === undefined ? {} : { type }))
  }
}

/** One request that costs the server more than its size. */
export const requestTrials: readonly Trial[] = [
  {
    line: 8,
    title: 'anybody sends JSON with doubled keys, unknown fields and deep brackets',
    run: (lab) =>
      sendReviews(lab, {
        'doubled keys of 0.3 MB': `{"spec":{${times(30_000, (index) => `"k${index % 15_000}":1`).join(',')}}}`,
        'doubled keys of 2.4 MB': `{"spec":{${times(300_000, () => '"a":1').join(',')}}}`,
        'unknown fields': `{${times(150_000, (index) => `"unknown${index}":1`).join(',')}}`,
        'nested arrays': `{"spec":${'['.repeat(900)}${']'.repeat(900)}}`,
        'a million brackets': `{"spec":${'['.repeat(1_000_000)}}`,
        'doubled deep keys': `${'{"a":1,"a":'.repeat(900)}1${'}'.repeat(900)}`,
        escapes: `{"spec":{"a":"${'\\\\'.repeat(1_000_000)}"}}`,
        numbers: `{"spec":{"a":[${times(200_000, () => '1.10').join(',')}]}}`,
      }),
  },
  {
    line: 8,
    title: 'anybody sends YAML that is long, deep or full of keys, anchors and quotes',
    run: (lab) =>
      sendReviews(
        lab,
        {
          keys: times(150_000, (index) => `k${index}: 1`).join('\n'),
          'doubled keys': times(150_000, () => 'a: 1').join('\n'),
          'a long plain text': `a: ${'x '.repeat(1_200_000)}`,
          'a long quoted text': `a: "${'x\\n'.repeat(700_000)}"`,
          'a folded text': `a: >\n${times(100_000, () => '  x').join('\n')}`,
          'flow brackets': '['.repeat(1_000_000),
          'block levels': times(2_000, (index) => `${' '.repeat(index)}a:`).join('\n'),
          anchors: times(60_000, (index) => `k${index}: &a${index} x`).join('\n'),
          'aliases that double': `a0: &a0 [x]\n${times(40, (index) => `a${index + 1}: &a${index + 1} [*a${index}, *a${index}]`).join('\n')}`,
          'aliases of a long text': `a: &a ${'x'.repeat(2_000_000)}\nb: [${times(90, () => '*a').join(',')}]`,
          comments: '#\n'.repeat(1_000_000),
          documents: '---\n'.repeat(500_000),
        },
        yaml.type,
      ),
  },
  {
    line: 8,
    title: 'a tenant sends patches whose work is the product of two lengths',
    run: async ({ tenant }) => {
      const name = `${configMaps}/patched`
      const entries = Object.fromEntries(times(20_000, (index) => `k${index}`).map((key) => [key, '']))
      await must(tenant.call('POST', configMaps, { metadata: { name: 'patched' }, data: entries }))
      const finalizers = times(10_000, (index) => `example.com/f${index}`)
      const add = finalizers.map((value) => ({ op: 'add', path: '/metadata/finalizers/0', value }))
      const start = { op: 'add', path: '/metadata/finalizers', value: finalizers.slice(0, 5_000) }
      await assertAnswered(
        '10,000 operations',
        tenant.call('PATCH', `${name}?dryRun=All`, [start, ...add.slice(0, 9_999)], jsonPatch),
      )
      const copies = times(10_000, (index) => `/data/c${index}`).map((path) => ({ op: 'copy', from: '/data', path }))
      await assertAnswered('copies', tenant.call('PATCH', name, copies, jsonPatch))
      const ports = times(60_000, (index) => String(index % 30_000)).map((port) => ({
        port: Number(port) + 1,
        protocol: 'TCP',
      }))
      await must(
        tenant.call('POST', `${own}/services`, { metadata: { name: 'patched' }, spec: { ports: [{ port: 80 }] } }),
      )
      await assertAnswered(
        '60,000 items',
        tenant.call('PATCH', `${own}/services/patched`, { spec: { ports } }, strategicPatch),
      )
      for (let level = 400; level <= 3_600; level += 400) {
        const nested = `${'{"a":'.repeat(level)}{}${'}'.repeat(level)}`
        await assertAnswered(`${level} levels`, tenant.call('PATCH', name, nested, mergePatch))
        await assertAnswered(`${level} levels`, tenant.call('PATCH', name, nested, strategicPatch))
      }
    },
  },
  {
    line: 8,
    title: 'a tenant makes Roles of thousands of verbs and resources',
    run: async ({ tenant }) => {
      const roles = `/apis/rbac.authorization.k8s.io/v1/namespaces/${tenantNamespace}/roles`
      for (const count of [3_000, 10_000]) {
        const rule = {
          apiGroups: [''],
          resources: times(count, (index) => `r${index}`),
          verbs: times(count, (index) => `v${index}`),
        }
        await assertAnswered(
          `${count} verbs`,
          tenant.call('POST', roles, { metadata: { generateName: 'r-' }, rules: [rule] }),
        )
      }
    },
  },
  {
    line: 8,
    title: 'an administrator makes a definition with thousands of alternatives',
    run: async ({ admin }) => {
      const anyOf = times(4_000, (index) => `p${index}`).map((required) => ({ required: [required] }))
      const schema = { openAPIV3Schema: { type: 'object', anyOf } }
      const names = { plural: 'things', singular: 'thing', kind: 'Thing' }
      const versions = [{ name: 'v1', served: true, storage: true, schema }]
      const definition = {
        metadata: { name: 'things.example.com' },
        spec: { group: 'example.com', scope: 'Cluster', names, versions },
      }
      await assertAnswered(
        'alternatives',
        admin.call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition),
      )
      const thing = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'a' }, q: 1 }
      for (let count = 0; count < 5; count++)
        await assertAnswered('a thing', admin.call('POST', '/apis/example.com/v1/things', thing))
    },
  },
  {
    line: 9,
    title: 'a tenant grows Endpoints by small requests, and stores what YAML aliases expand to',
    run: async ({ tenant }) => {
      await must(tenant.call('POST', `${own}/endpoints`, { metadata: { name: 'grown' }, subsets: [] }))
      let code = 200
      for (let part = 0; part < 40 && code === 200; part++) {
        const addresses = times(6_000, (index) => `10.${part}.${index >> 8}.${index & 255}`).map((ip) => ({ ip }))
        const patch = [{ op: 'add', path: '/subsets/-', value: { addresses, ports: [{ port: 80 + part }] } }]
        const first = [{ op: 'add', path: '/subsets', value: [patch[0]?.value] }]
        code = (await tenant.call('PATCH', `${own}/endpoints/grown`, part === 0 ? first : patch, jsonPatch)).code
      }
      assert.equal(code, 413)
      const uses = times(90, (index) => `  k${index}: *a`).join('\n')
      const body = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: aliases}\nx: &a ${'x'.repeat(2_900_000)}\ndata:\n${uses}\n`
      await must(tenant.call('POST', configMaps, body, yaml), 413)
    },
  },
]
