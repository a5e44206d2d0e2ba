import type { TestServer } from '../../test/helpers/api-server.ts'

const nodeName = 'n1'

/** A manager makes no endpoint of a Pod whose Node the API does not have. */
export async function createNode(server: TestServer): Promise<void> {
  const node = await server.call('POST', '/api/v1/nodes', { body: { metadata: { name: nodeName } } })
  if (node.code !== 201) throw new Error(node.text)
}

/** A ready Pod on the Node. */
export async function createPod(server: TestServer, index: number, app: string): Promise<void> {
  const metadata = { name: `pod-${index}`, labels: { app } }
  await create(server, 'pods', { metadata, spec: { nodeName, containers: [{ name: 'main', image: 'main' }] } })
  await setReady(server, index, true)
}

export async function create(server: TestServer, resource: string, body: object): Promise<void> {
  const { code, text } = await server.call('POST', `/api/v1/namespaces/default/${resource}`, { body })
  if (code !== 201) throw new Error(text)
}

export async function setReady(server: TestServer, index: number, ready: boolean): Promise<void> {
  const ip = `10.244.${index >> 8}.${index & 255}`
  const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }]
  const { code, text } = await server.call('PATCH', `/api/v1/namespaces/default/pods/pod-${index}/status`, {
    body: { status: { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  if (code !== 200) throw new Error(text)
}
