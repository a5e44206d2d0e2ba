import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RawConnection } from '../../helpers/raw-connection.ts'
import { type Lab, must, tenantNamespace } from './lab.ts'
import type { Trial } from './trial.ts'

const own = `/api/v1/namespaces/${tenantNamespace}`
const configMaps = `${own}/configmaps`
const get = (path: string, ...headers: string[]) =>
  `${[`GET ${path} HTTP/1.1`, 'host: x', ...headers].join('\r\n')}\r\n\r\n`
const close = (connections: readonly RawConnection[]) => {
  for (const connection of connections) connection[Symbol.dispose]()
}

/** The others are served while the connections are open. */
async function assertOthersServed({ admin, node }: Lab): Promise<void> {
  const name = `served-${Math.random().toString(36).slice(2)}`
  await must(admin.call('POST', '/api/v1/namespaces/other/configmaps', { metadata: { name } }))
  await must(node.call('GET', '/api/v1/nodes/node-1'), 200)
}

/** Requests and connections that hold what others need. */
export const connectionTrials: readonly Trial[] = [
  {
    line: 10,
    title: 'a tenant opens 400 requests that never send their body',
    run: async (lab) => {
      const head = `POST ${configMaps} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n{`
      const silent = await lab.tenant.open(400, head)
      await assertOthersServed(lab)
      await must(lab.tenant.call('GET', configMaps), 200)
      close(silent)
    },
  },
  {
    line: 10,
    title: 'a tenant waits 500 times for a resourceVersion of the future',
    run: async (lab) => {
      const waiting = await lab.tenant.open(500, get(`${configMaps}?resourceVersion=99999999`))
      await assertOthersServed(lab)
      await must(lab.tenant.call('GET', configMaps), 200)
      close(waiting)
    },
  },
  {
    line: 10,
    title: 'a tenant sends 2,000 watches ahead over one connection, and 20 over each of 100',
    run: async (lab) => {
      const large = { metadata: { name: 'large' }, data: { a: 'x'.repeat(1_000_000) } }
      await must(lab.tenant.call('POST', configMaps, large))
      const watch = get(`${configMaps}?watch=true`)
      const one = await lab.tenant.open(1, watch.repeat(2_000))
      const many = await lab.tenant.open(100, watch.repeat(20))
      for (const connection of many) connection.socket.pause()
      for (let count = 0; count < 20; count++) {
        const patch = { data: { a: String(count).padEnd(1_000_000, 'y') } }
        const type = 'application/merge-patch+json'
        await must(lab.tenant.call('PATCH', `${configMaps}/large`, patch, { type }), 200)
      }
      await assertOthersServed(lab)
      close([...one, ...many])
    },
  },
  {
    line: 10,
    title: 'a tenant opens 1,000 lists of 20 MB and reads none of them',
    run: async (lab) => {
      for (let count = 0; count < 20; count++) {
        const body = { metadata: { name: `bulk-${count}` }, data: { a: 'x'.repeat(1_000_000) } }
        await must(lab.tenant.call('POST', configMaps, body))
      }
      const unread = await lab.tenant.open(1_000)
      for (const { socket } of unread) socket.pause()
      for (const connection of unread) connection.send(get(configMaps))
      await sleep(2_000)
      await assertOthersServed(lab)
      close(unread)
      await must(lab.tenant.call('DELETE', configMaps), 200)
    },
  },
  {
    line: 10,
    title: 'a tenant lists 20 MB as Tables and as YAML, 100 at once',
    run: async (lab) => {
      for (let count = 0; count < 20; count++) {
        const body = { metadata: { name: `bulk-${count}` }, data: { a: 'x\n'.repeat(500_000) } }
        await must(lab.tenant.call('POST', configMaps, body))
      }
      const table = 'accept: application/json;as=Table;v=v1;g=meta.k8s.io'
      const readers = [
        ...(await lab.tenant.open(50, get(`${configMaps}?includeObject=Object`, table))),
        ...(await lab.tenant.open(50, get(configMaps, 'accept: application/yaml'))),
      ]
      await sleep(3_000)
      await assertOthersServed(lab)
      close(readers)
      await must(lab.tenant.call('DELETE', configMaps), 200)
    },
  },
  {
    line: 10,
    title: 'a tenant rewrites large objects 500 times',
    run: async (lab) => {
      const type = 'application/merge-patch+json'
      await must(lab.tenant.call('POST', configMaps, { metadata: { name: 'rewritten' } }))
      for (let count = 0; count < 500; count++) {
        const patch = { data: { a: String(count).padEnd(1_000_000, 'z') } }
        await must(lab.tenant.call('PATCH', `${configMaps}/rewritten`, patch, { type }), 200)
      }
      await assertOthersServed(lab)
    },
  },
  {
    line: 9,
    title: 'a tenant creates objects until no more are taken',
    run: async (lab) => {
      const data = { a: 'x'.repeat(1_000_000) }
      let code = 201
      for (let count = 0; count < 400 && code === 201; count++) {
        code = (await lab.tenant.call('POST', configMaps, { metadata: { name: `fills-${count}` }, data })).code
      }
      assert.equal(code, 403)
      await assertOthersServed(lab)
      await must(lab.tenant.call('DELETE', configMaps), 200)
    },
  },
  {
    line: 10,
    title: 'anybody asks 64 at a time for the OpenAPI documents and for reviews',
    run: async (lab) => {
      const ask = async (index: number) => {
        const review = { spec: { nonResourceAttributes: { path: '/', verb: 'get' } } }
        const headers = { 'accept-encoding': 'gzip' }
        if (index % 2 === 0) return lab.outsider.call('GET', '/openapi/v2', undefined, { headers })
        return lab.outsider.call('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', review)
      }
      const codes = await Promise.all(Array.from({ length: 600 }, async (_, index) => (await ask(index)).code))
      assert.ok(
        codes.every((code) => [200, 201, 429].includes(code)),
        String([...new Set(codes)]),
      )
      await assertOthersServed(lab)
    },
  },
  {
    line: 10,
    title: 'a client without an identity opens 3,000 connections and begins no TLS',
    run: async (lab) => {
      const sockets: Socket[] = []
      for (let count = 0; count < 3_000; count++) {
        const socket = connect(lab.access.port, lab.access.host).on('error', () => {})
        sockets.push(socket)
        if (count % 50 === 0) await sleep(5)
      }
      await assertOthersServed(lab)
      await must(lab.outsider.call('GET', '/version'), 200)
      for (const socket of sockets) socket.destroy()
    },
  },
]
