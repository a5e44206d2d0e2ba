import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import DNS from 'dns2'
import { runCli } from '../../../src/cli/run-cli.ts'

async function platnet(...args: readonly string[]) {
  const out: string[] = []
  const err: string[] = []
  const stdout = { write: (text: string) => out.push(text) }
  const stderr = { write: (text: string) => err.push(text) }
  const code = await runCli(['node', 'platnet', ...args], { env: {}, stdout, stderr })
  return { code, out: out.join(''), err: err.join('') }
}

/** A server of dns2's own that answers one name and denies the others. */
async function startServer(): Promise<{ port: string; close: () => Promise<unknown> }> {
  const answer = (request: DNS.Packet): DNS.Packet => {
    const response = DNS.Packet.createResponseFromRequest(request)
    const name = request.questions[0]?.name ?? ''
    response.header.aa = 1
    if (name === 'fails.example') response.header.rcode = 2
    else if (name !== 'web.default.svc.cluster.local') response.header.rcode = 3
    else response.answers.push({ name, type: 1, class: 1, ttl: 30, address: '10.96.4.2' } as DNS.Packet.Resource)
    return response
  }
  const server = DNS.createUDPServer((request, send) => void send(answer(request)))
  await server.listen(0, '127.0.0.1')
  const close = () => {
    server.close()
    return once(server, 'close')
  }
  return { port: String(server.address().port), close }
}

test('dns query shows the answer as a zone file has it, and ends with 1 where there is no such name', async () => {
  const { port, close } = await startServer()
  try {
    const where = ['--dns-server', '127.0.0.1', '--dns-port', port]
    const found = await platnet('dns', 'query', 'web.default.svc.cluster.local', ...where)
    assert.equal(found.err, '')
    assert.match(found.out, /^;; NOERROR, authoritative from 127\.0\.0\.1 port \d+ in \d+\.\d ms\n/)
    assert.match(found.out, /\nweb\.default\.svc\.cluster\.local\. 30 IN A 10\.96\.4\.2\n$/)
    assert.equal(found.code, 0)
    const missing = await platnet('dns', 'query', 'other.default.svc.cluster.local', 'aaaa', ...where)
    assert.equal(missing.code, 1)
    assert.match(missing.out, /^;; NXDOMAIN/)
    assert.doesNotMatch(missing.out, /log/)
    const failed = await platnet('dns', 'query', 'fails.example', ...where)
    assert.match(
      failed.out,
      /^;; SERVFAIL.*\n;; the log of the agent that answers says why: target platform_dns::resolver/,
    )
  } finally {
    await close()
  }
})

test('dns query refuses what is no type, no server, no port', async () => {
  for (const args of [['WHAT'], ['A', '--dns-server', 'here'], ['A', '--dns-port', '70000']]) {
    const { code, err } = await platnet('dns', 'query', 'web.default', ...args)
    assert.equal(code, 2)
    assert.match(err, /error: .*expected/)
  }
})

test('dns query refuses at once what is no name, without a question', async () => {
  const where = ['--dns-server', '127.0.0.1', '--dns-port', '9']
  for (const name of ['a..b', '.a', '', `${'x'.repeat(64)}.b`, `${'x.'.repeat(127)}y`]) {
    const startedMs = performance.now()
    const { code, err } = await platnet('dns', 'query', name, ...where)
    assert.equal(code, 2, name)
    assert.match(err, /^error: ".*" is no name: expected /)
    assert.ok(performance.now() - startedMs < 1_900, 'a question was waited for')
  }
})
