import assert from 'node:assert/strict'
import { nodeName, type Reply, tenantNamespace } from './lab.ts'
import type { Trial } from './trial.ts'

const own = `/api/v1/namespaces/${tenantNamespace}`
const container = { name: 'c', image: 'i' }

async function assertRefused(what: string, reply: Promise<Reply>): Promise<void> {
  const { code, text } = await reply
  assert.ok(code >= 400 && code < 500 && code !== 429, `${what}: answered ${code}: ${text.slice(0, 300)}`)
}

/** What no identity may do: each is refused. */
export const rightsTrials: readonly Trial[] = [
  {
    line: 1,
    title: 'a node makes a mirror Pod that names an account and a Secret, and asks for their tokens',
    run: async ({ node }) => {
      const pod = (spec: object) => ({
        metadata: { name: `mirror-${nodeName}`, annotations: { 'kubernetes.io/config.mirror': 'x' } },
        spec: { nodeName, containers: [container], ...spec },
      })
      const pods = '/api/v1/namespaces/kube-system/pods'
      await assertRefused('an account', node.call('POST', pods, pod({ serviceAccountName: 'namespace-controller' })))
      const volumes = [{ name: 'v', secret: { secretName: 's' } }]
      await assertRefused('a Secret', node.call('POST', pods, pod({ volumes })))
      const token = '/api/v1/namespaces/kube-system/serviceaccounts/namespace-controller/token'
      await assertRefused('a token', node.call('POST', token, { spec: {} }))
      await assertRefused('all Secrets', node.call('GET', '/api/v1/namespaces/kube-system/secrets'))
    },
  },
  {
    line: 2,
    title: 'a node claims the whole network, and removes another node',
    run: async ({ node }) => {
      const patch = { type: 'application/merge-patch+json' }
      const claim = { spec: { podCIDR: '0.0.0.0/0', podCIDRs: ['0.0.0.0/0'] } }
      await assertRefused('own podCIDR', node.call('PATCH', `/api/v1/nodes/${nodeName}`, claim, patch))
      await assertRefused("another's podCIDR", node.call('PATCH', '/api/v1/nodes/node-2', claim, patch))
      await assertRefused('deletion', node.call('DELETE', '/api/v1/nodes/node-2'))
    },
  },
  {
    line: 3,
    title: 'identities without the right impersonate an administrator',
    run: async ({ outsider, tenant, node }) => {
      const headers = { 'impersonate-user': 'root', 'impersonate-group': 'system:masters' }
      for (const identity of [outsider, tenant, node]) {
        await assertRefused('impersonation', identity.call('GET', '/api/v1/nodes', undefined, { headers }))
      }
    },
  },
  {
    line: 4,
    title: 'a tenant claims the addresses of others, in any spelling',
    run: async ({ tenant }) => {
      for (const ip of [
        '::ffff:127.0.0.1',
        '127.0.0.1',
        '10.96.0.1',
        '::ffff:10.96.0.1',
        '169.254.169.254',
        '::',
        '224.0.0.1',
      ]) {
        const spec = { ports: [{ port: 443 }], externalIPs: [ip] }
        const body = { metadata: { generateName: 'claim-' }, spec }
        await assertRefused(`externalIP ${ip}`, tenant.call('POST', `${own}/services`, body))
      }
      for (const ip of ['::0001', '::ffff:169.254.169.254', '127.0.0.1', '::ffff:127.0.0.1']) {
        const body = { metadata: { generateName: 'claim-' }, subsets: [{ addresses: [{ ip }], ports: [{ port: 80 }] }] }
        await assertRefused(`endpoint ${ip}`, tenant.call('POST', `${own}/endpoints`, body))
      }
    },
  },
  {
    line: 7,
    title: 'identities without roles ask for metrics, reviews of tokens, a backup and what is not theirs',
    run: async ({ outsider, tenant }) => {
      const review = { spec: { token: 'x' } }
      for (const identity of [outsider, tenant]) {
        await assertRefused('metrics', identity.call('GET', '/metrics'))
        await assertRefused('a review', identity.call('POST', '/apis/authentication.k8s.io/v1/tokenreviews', review))
        await assertRefused('Secrets', identity.call('GET', '/api/v1/namespaces/other/secrets'))
        await assertRefused('roles', identity.call('GET', '/apis/rbac.authorization.k8s.io/v1/clusterroles'))
      }
    },
  },
]
