import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  addAddress,
  addRoute,
  attachToBridge,
  createBridge,
  createVethPair,
  deleteLink,
  type Link,
  type LinkAddress,
  moveLink,
  setLinkUp,
} from '../../../src/host/links.ts'
import { createNetns, deleteNetns, listNetns } from '../../../src/host/netns.ts'
import { NetnsMaker } from '../../../src/host/netns-maker.ts'
import { type Run, runProgram } from '../../../src/host/programs/index.ts'
import { ipOf } from '../../helpers/addresses.ts'
import { untilAsync } from '../../helpers/until.ts'

const router = `plt-router-${process.pid}`
const leaf = `plt-leaf-${process.pid}`
const timeoutMs = 5000

describe('links in namespaces', () => {
  before(async () => {
    await createNetns(router)
    await createNetns(leaf)
  })
  after(async () => {
    await deleteNetns(leaf)
    await deleteNetns(router)
  })

  it('carries packets of both families over a veth pair, a bridge and a default route', async () => {
    const bridge: Link = { name: 'plt0', netns: router }
    const port: Link = { name: 'port1', netns: router }
    const eth0: Link = { name: 'eth0', netns: leaf }
    await createBridge(bridge)
    await createVethPair(port, eth0)
    await attachToBridge(port, bridge.name)
    await addAddress(bridge, address('10.244.0.1', 24))
    await addAddress(bridge, address('fd00:10::1', 64))
    await addAddress(bridge, address('192.0.2.1', 32))
    await addAddress(eth0, address('10.244.0.2', 24))
    await addAddress(eth0, address('fd00:10::2', 64))
    await addRoute({ destination: 'default', via: address('10.244.0.1', 24).ip, netns: leaf })
    await addRoute({ destination: 'default', via: address('fd00:10::1', 64).ip, netns: leaf })
    for (const target of ['10.244.0.1', 'fd00:10::1', '192.0.2.1']) {
      assert.equal(await canConnect(target), 'ECONNREFUSED', target)
    }
  })

  it('moves a link to another namespace and deletes it there', async () => {
    await createVethPair({ name: 'stay', netns: router }, { name: 'walk', netns: router })
    const moved = await moveLink({ name: 'walk', netns: router }, leaf)
    await setLinkUp(moved)
    await deleteLink(moved)
    await assert.rejects(deleteLink({ name: 'stay', netns: router }), { code: 'failed' })
  })

  it('starts a program whose pid is its own', async () => {
    const program = await runProgram('sleep', ['30'], { netns: leaf, background: true })
    const isInside = async () => {
      const { stdout } = await runProgram('ip', ['netns', 'pids', leaf], { netns: leaf, timeoutMs })
      return stdout.split('\n').includes(String(program.pid))
    }
    // It begins outside and goes in.
    await untilAsync('the program is in the namespace', isInside, 30_000)
    program.kill('SIGKILL')
    assert.equal((await program.exited).signal, 'SIGKILL')
  })

  it('deletes a namespace once and accepts that it is gone', async () => {
    const name = `plt-gone-${process.pid}`
    await createNetns(name)
    assert.ok((await listNetns()).includes(name))
    await deleteNetns(name)
    await deleteNetns(name)
    assert.ok(!(await listNetns()).includes(name))
  })

  it('makes and deletes namespaces as ip does, by a program that stays', async () => {
    const started: string[] = []
    const maker = new NetnsMaker((file, args, options) => {
      started.push(`${file} ${args.join(' ')}`)
      return runProgram(file, args, options)
    })
    const names = ['a', 'b', 'c'].map((letter) => `plt-made-${letter}-${process.pid}`)
    try {
      await Promise.all(names.map((name) => maker.create(name)))
      const known = await listNetns()
      assert.ok(names.every((name) => known.includes(name)))
      const links = await runProgram('ip', ['-brief', 'link'], { netns: names[1] ?? '', timeoutMs })
      assert.match(links.stdout, /^lo .*<LOOPBACK,UP,LOWER_UP> *\n$/)
      assert.deepEqual(started, [], 'nothing was left to ip')
      await assert.rejects(maker.create(names[0] ?? ''), { code: 'failed', message: /File exists/ })
      await Promise.all(names.map((name) => maker.delete(name)))
      await maker.delete(names[0] ?? '')
      assert.deepEqual(
        (await listNetns()).filter((name) => names.includes(name)),
        [],
      )
      assert.deepEqual(started, ['ip -batch -'], 'the one that failed')
    } finally {
      await maker.stop()
      await Promise.all(names.map((name) => deleteNetns(name)))
    }
  })

  it('leaves namespaces to ip where the program that stays is not for this processor, or is gone', async () => {
    const name = `plt-left-${process.pid}`
    const started: string[] = []
    const run: Run = (file, args, options) => {
      started.push(`${file} ${args.join(' ')}`)
      return runProgram(file, args, options)
    }
    const elsewhere = new NetnsMaker(run, 'riscv64')
    await elsewhere.create(name)
    await elsewhere.delete(name)
    assert.deepEqual(started, ['ip -batch -', `ip netns delete ${name}`])
    const maker = new NetnsMaker(run)
    await maker.create(name)
    await maker.stop()
    await maker.delete(name)
    await maker.stop()
    assert.ok(!(await listNetns()).includes(name))
  })
})

/** Nothing listens there: an answer that refuses proves the way there and back. */
async function canConnect(host: string): Promise<string> {
  const script = `require('node:net').connect(9, '${host}').on('error', (error) => console.log(error.code))`
  const { stdout } = await runProgram(process.execPath, ['-e', script], { netns: leaf, timeoutMs })
  return stdout.trim()
}

function address(text: string, prefixLength: number): LinkAddress {
  return { ip: ipOf(text), prefixLength }
}
