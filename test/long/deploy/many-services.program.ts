// Creates Services with one endpoint each through a kube-apiserver. Arguments: the address of the API server, the file with its CA, a token,
// the number of the first Service, and that after the last.
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'

const [server = '', caFile = '', token = '', first = '0', end = '0'] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: 16, ca: readFileSync(caFile) })
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

function create(path: string, body: object): Promise<void> {
  return new Promise((resolve, reject) => {
    request(`${server}${path}`, { agent, method: 'POST', headers }, async (response) => {
      const answer = await text(response)
      if (response.statusCode === 201) resolve()
      else reject(new Error(`${path}: ${response.statusCode} ${answer}`))
    })
      .on('error', reject)
      .end(JSON.stringify(body))
  })
}

async function createService(index: number): Promise<void> {
  const name = `many-${index}`
  const ports = [{ port: 80, targetPort: 8080 }]
  await create('/api/v1/namespaces/default/services', { metadata: { name }, spec: { ports } })
  await create('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
    metadata: { name, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [`10.244.${7 + (index >> 8)}.${index & 255}`], conditions: { ready: true } }],
    ports: [{ port: 8080 }],
  })
}

const count = Number(end) - Number(first)
const indexes = Array.from({ length: count }, (_, index) => Number(first) + index).values()
const work = async () => {
  for (const index of indexes) await createService(index)
}
await Promise.all(Array.from({ length: 16 }, work))
agent.destroy()
