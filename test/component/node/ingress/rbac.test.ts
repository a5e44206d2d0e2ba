import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { NodeAnnotation } from '../../../../src/node/registration/index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { startApiRecorder } from '../../../helpers/api-recorder.ts'
import type { TestServer } from '../../../helpers/api-server.ts'
import { startPlaneLab } from '../../../helpers/ingress-plane.ts'
import { makeTlsCertificate } from '../../../helpers/tls-certificates.ts'
import { until, untilAsync } from '../../../helpers/until.ts'

const folder = resolve(import.meta.dirname, '../../../../deploy/kubernetes')

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly namespace?: string }
  readonly rules?: readonly {
    readonly apiGroups: readonly string[]
    readonly resources: readonly string[]
    readonly verbs: readonly string[]
  }[]
}

function readManifests(file: string): readonly Manifest[] {
  return parseAllDocuments(readFileSync(`${folder}/${file}`, 'utf8')).map((document): Manifest => document.toJS())
}

/** Rights as `list networking.k8s.io/ingresses`, one for each verb. */
function rightsOf(manifests: readonly Manifest[]): ReadonlySet<string> {
  const rules = manifests.flatMap((manifest) => manifest.rules ?? [])
  return new Set(
    rules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) => resources.flatMap((each) => verbs.map((verb) => `${verb} ${group}/${each}`))),
    ),
  )
}

/** The right that a request needs; undefined for documents that every identity may read. */
function rightOf({ method, url }: { readonly method: string; readonly url: string }): string | undefined {
  const { pathname, searchParams } = new URL(url, 'https://localhost')
  const found = /^\/(?:api|apis\/([^/]+))\/v1\/(?:namespaces\/[^/]+\/)?([^/]+)(?:\/([^/]+)(?:\/([^/]+))?)?$/.exec(
    pathname,
  )
  if (found === null) return undefined
  const [, group = '', resource = '', name, part] = found
  const verbs: Readonly<Record<string, string>> = { POST: 'create', PATCH: 'patch', PUT: 'update', DELETE: 'delete' }
  const reading = searchParams.has('watch') ? 'watch' : name === undefined ? 'list' : 'get'
  return `${verbs[method] ?? reading} ${group}/${resource}${part === undefined ? '' : `/${part}`}`
}

async function applyManifests(server: TestServer, manifests: readonly Manifest[]): Promise<void> {
  for (const { kind, metadata, ...rest } of manifests) {
    const scope = metadata.namespace === undefined ? '' : `namespaces/${metadata.namespace}/`
    const group = kind === 'ServiceAccount' ? '/api/v1' : '/apis/rbac.authorization.k8s.io/v1'
    const body = { kind, metadata, ...rest }
    const { code, text } = await server.call('POST', `${group}/${scope}${kind.toLowerCase()}s`, { body })
    assert.equal(code, 201, text)
  }
}

test('an account with the rights of rbac.yaml and rbac-ingress.yaml serves Ingresses, and needs each right of the latter', async (context) => {
  const [base, ingress] = [readManifests('rbac.yaml'), readManifests('rbac-ingress.yaml')]
  let recorder: Awaited<ReturnType<typeof startApiRecorder>> | undefined
  const { api, client, reported, dialect } = await startPlaneLab(context, {
    dialect: 'kubernetes',
    connect: async (server) => {
      await applyManifests(server, [...base, ...ingress])
      recorder = await startApiRecorder(server)
      context.after(recorder.stop)
      return recorder
    },
  })
  await api.createNode('node-a', '')
  const key = dialect.annotations.ingressAddresses
  const annotation = new NodeAnnotation({
    client,
    nodeName: 'node-a',
    key,
    value: () => '203.0.113.7',
    log: silentLogger,
  })
  await annotation.start()
  context.after(() => annotation.stop({ signal: AbortSignal.timeout(1000) }))
  await api.createClass()
  const { certPem, keyPem } = await makeTlsCertificate({ commonName: 'shop', names: ['shop.example.com'] })
  await api.createSecret('shop-tls', certPem, keyPem)
  const rules = [{ host: 'shop.example.com' }]
  const defaultBackend = { service: { name: 'absent', port: { number: 80 } } }
  const tls = [{ hosts: ['shop.example.com'], secretName: 'shop-tls' }]
  await api.createIngress('shop', { rules, tls, defaultBackend })
  await untilAsync('the status is written', async () => (await api.status('shop')).length === 1)
  await until('the problem is found', () => reported.length > 0)
  await untilAsync('the Event is written', async () => (await api.events()).length > 0)
  const asked = recorder?.asked ?? []
  assert.deepEqual(
    asked.filter(({ code }) => code === 403),
    [],
  )
  const used = new Set(asked.map(rightOf).filter((right) => right !== undefined))
  assert.deepEqual([...rightsOf(ingress).difference(used)], [], 'rights that are not needed')
  assert.deepEqual([...used.difference(rightsOf([...base, ...ingress]))], [], 'requests without a right')
})
