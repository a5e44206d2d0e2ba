import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { missingCluster, RealCluster } from '../../helpers/real-cluster.ts'
import { untilAsync } from '../../helpers/until.ts'

const agnhost = 'registry.k8s.io/e2e-test-images/agnhost:2.56'
const busybox = 'registry.k8s.io/e2e-test-images/busybox:1.37.0-1'
/** 1,000 lines and more a second, after the first has been seen. */
const talk = 'n=0; while [ $n -lt 10000 ]; do echo line $n; n=$((n+1)); [ $((n % 100)) = 0 ] && sleep 0.05; done'

const objects = [
  {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', labels: { app: 'web' } } },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        { name: 'c', image: agnhost, args: ['netexec', '--http-port=8080'], ports: [{ containerPort: 8080 }] },
        { name: 'shell', image: busybox, command: ['sh', '-c', 'echo started; sleep 100000'] },
      ],
    },
  },
  {
    ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' } },
    spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
  },
  {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'fails' } },
    spec: { containers: [{ name: 'c', image: busybox, command: ['sh', '-c', 'echo last words; exit 3'] }] },
  },
]

describe('kubectl with pods of a real kubelet', { skip: missingCluster() }, () => {
  let cluster: RealCluster
  const folder = mkdtempSync(join(tmpdir(), 'plt-test-'))
  before(async () => {
    cluster = await RealCluster.start({ CONTROL: 'platnet', PLANE: 'platnet' })
    const file = join(folder, 'objects.json')
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }))
    await cluster.kubectl('apply', '-f', file)
    await cluster.kubectl('wait', '--for=condition=Ready', 'pod/web', '--timeout=120s')
  })
  after(async () => {
    await cluster[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  const shell = (script: string) => cluster.run('sh', '-c', script)
  /** The connections with pods that the server has open. */
  const openConnections = async () => {
    const text = await cluster.kubectl('get', '--raw', '/metrics')
    const lines = text.split('\n').filter((line) => /^apiserver_longrunning_requests\{.*CONNECT/.test(line))
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }

  test('logs: a container, its last lines, with times, and those of the run before', async () => {
    assert.equal(await cluster.kubectl('logs', 'web', '-c', 'shell'), 'started\n')
    assert.match(await cluster.kubectl('logs', 'web', '-c', 'shell', '--timestamps'), /^\d{4}-\S+Z started\n$/)
    assert.equal(await cluster.kubectl('logs', 'web', '-c', 'shell', '--limit-bytes=3'), 'sta')
    await assert.rejects(cluster.kubectl('logs', 'web', '-c', 'other'), /container other is not valid for pod web/)
    await untilAsync(
      'it ran twice',
      async () => (await cluster.kubectl('get', 'pod', 'fails', '-o', 'jsonpath={..restartCount}')) !== '0',
      60_000,
    )
    // The kubelet answers in words while it replaces the container that ran before.
    const previous = () => cluster.kubectl('logs', 'fails', '--previous')
    await untilAsync('its log is there', async () => (await previous()) === 'last words\n', 60_000)
  })

  test('logs -f: 10,000 lines at 1,000 a second and more, each once and in order', async () => {
    const command = JSON.stringify(['sh', '-c', talk])
    const overrides = `{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"${busybox}","command":${command}}]}}`
    await cluster.kubectl('run', 'talks', `--image=${busybox}`, `--overrides=${overrides}`)
    const phase = () => cluster.kubectl('get', 'pod', 'talks', '-o', 'jsonpath={.status.phase}')
    await untilAsync('it runs', async () => /Running|Succeeded/.test(await phase()), 60_000)
    const lines = (await shell('timeout 90 kubectl logs -f talks')).trim().split('\n')
    assert.equal(lines.length, 10_000)
    lines.forEach((line, index) => {
      assert.equal(line, `line ${index}`)
    })
  })

  test('a client that goes away leaves no connection behind', async () => {
    await untilAsync('none is open', async () => (await openConnections()) === 0, 10_000)
    const following = shell('timeout -s KILL 15 kubectl logs -f web -c shell >/dev/null; true')
    await untilAsync('it is open', async () => (await openConnections()) === 1, 14_000)
    await following
    await untilAsync('it is closed', async () => (await openConnections()) === 0, 20_000)
  })

  for (const isWebSocket of ['true', 'false']) {
    test(`exec: output, exit code, the end of standard input, a terminal; through a WebSocket: ${isWebSocket}`, async () => {
      const log = join(folder, `exec-${isWebSocket}.log`)
      const exec = `KUBECTL_REMOTE_COMMAND_WEBSOCKETS=${isWebSocket} kubectl exec web -c shell`
      assert.equal(await shell(`${exec} -v=4 -- echo 'a b' c 2>${log}`), 'a b c\n')
      assert.doesNotMatch(readFileSync(log, 'utf8'), /fallback/i)
      const code = `${exec} -- sh -c "echo out; echo err >&2; exit 7" 2>&1; echo $?`
      assert.match(await shell(code), /^(out\nerr|err\nout)\ncommand terminated with exit code 7\n7\n$/)
      assert.equal(await shell(`seq 200000 | ${exec} -i -- wc -l`), '200000\n')
      assert.match(await shell(`${exec} -i -- cat </dev/null; echo $?`), /^0\n$/)
      assert.equal(await shell(`seq 1000000 | ${exec} -i -- cat | md5sum`), await shell('seq 1000000 | md5sum'))
      const absent = `${exec} -- no-such-program 2>&1; echo $?`
      assert.match(await shell(absent), /executable file not found in \$PATH.*\n[1-9]\d*\n$/s)
      const terminal = `stty cols 91 rows 33; ${exec} -it -- sh -c 'sleep 1; stty size; exit 3'; echo code $?`
      assert.match(await shell(`script -qec ${JSON.stringify(terminal)} /dev/null`), /33 91\r\n.*code 3\r\n/s)
    })
  }

  test('attach and run -i: what is written comes back', async () => {
    const run = `echo hello | timeout 60 kubectl run -i --rm --restart=Never --image=${busybox} reader -- sh -c 'read x; echo got $x; sleep 1'`
    assert.match(await shell(`${run} 2>&1`), /got hello/)
  })

  test('cp: 5 MB there and back', async () => {
    const [there, back] = [join(folder, 'there'), join(folder, 'back')]
    const bytes = randomBytes(5_000_000)
    writeFileSync(there, bytes)
    await cluster.kubectl('cp', there, 'default/web:/tmp/copy', '-c', 'shell')
    await cluster.kubectl('cp', 'default/web:/tmp/copy', back, '-c', 'shell')
    const digest = (content: Buffer) => createHash('sha256').update(content).digest('hex')
    assert.equal(digest(readFileSync(back)), digest(bytes))
  })

  test('port-forward: several connections, through a WebSocket and without', async () => {
    for (const isWebSocket of ['true', 'false']) {
      const forward = `KUBECTL_PORT_FORWARD_WEBSOCKETS=${isWebSocket} kubectl port-forward pod/web 18080:8080 -v=6`
      const script = `${forward} >${folder}/forward.log 2>&1 & forward=$!
        for i in $(seq 100); do grep -q Forwarding ${folder}/forward.log && break; sleep 0.1; done
        for i in 1 2 3 4 5; do curl -sS -m 10 http://127.0.0.1:18080/hostname || exit 1; echo; done
        kill $forward; wait; cat ${folder}/forward.log`
      const said = await shell(script)
      assert.ok(said.startsWith('web\nweb\nweb\nweb\nweb\n'), said)
      assert.doesNotMatch(said, /fallback/i)
    }
  })

  test('proxy: pods, Services and nodes', async () => {
    const get = (path: string) => cluster.kubectl('get', '--raw', path)
    const namespace = '/api/v1/namespaces/default'
    for (const name of ['pods/web:8080', 'pods/http:web:8080', 'pods/web', 'services/web:http', 'services/web:80'])
      assert.equal(await get(`${namespace}/${name}/proxy/hostname`), 'web', name)
    assert.equal(await get('/api/v1/nodes/realnode/proxy/healthz'), 'ok')
    assert.match(await get('/api/v1/nodes/realnode:10250/proxy/metrics/resource'), /node_cpu_usage_seconds_total/)
  })

  test('a kubelet that hangs is given up after 30 s with words, and serves again afterwards', async () => {
    const pid = (await cluster.run('pidof', 'kubelet')).trim()
    await cluster.run('kill', '-STOP', pid)
    const startedMs = performance.now()
    try {
      const refused = cluster.kubectl('logs', 'web', '-c', 'shell')
      await assert.rejects(refused, /the log of pod web cannot be read: .*took no connection within 30 s/)
    } finally {
      await cluster.run('kill', '-CONT', pid)
    }
    assert.ok(performance.now() - startedMs < 50_000)
    assert.equal(await cluster.kubectl('logs', 'web', '-c', 'shell'), 'started\n')
  })
})
