// Run by debian-package.test.ts in namespaces of its own: a package is installed on a fresh Debian, serves, is upgraded and downgraded under
// load, removed, installed again and purged. Arguments: the image of Debian, an empty control group, the older and the newer package.
// Prints what was seen as one line of JSON; the test judges it.
import { createSocket } from 'node:dgram'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { addAddress, addRoute, createBridge, runProgram } from '../../../src/host/index.ts'
import { ipOf } from '../../helpers/addresses.ts'
import { DebianMachine } from '../../helpers/debian-machine.ts'
import { httpGet } from '../../helpers/http-get.ts'
import { deadlineMs, PodsLab } from '../../helpers/pods-lab.ts'
import { untilAsync } from '../../helpers/until.ts'

const [image = '', group = '', older = '', newer = ''] = process.argv.slice(2)
const machine = new DebianMachine()
const nodeAddress = '192.0.2.1'
const serviceAddress = '10.96.0.77'
const lab = new PodsLab({ dataDir: join(machine.root, 'var/lib/platnet') })
const configFile = join(machine.root, 'etc/platnet/config.yaml')

const unitLog = '/run/unit.log'

/** The operator's own options: a changed conffile. */
const config = `nodeName: node-1
nodeIp: ${nodeAddress}
runPods: true
logLevel: warn
corefile: /etc/lab.corefile
`
/** Without the 5 s of answers after SIGTERM. */
const corefile = '.:53 {\n  kubernetes cluster.local in-addr.arpa ip6.arpa\n}\n'

const install = (file: string, ...flags: readonly string[]) =>
  machine.sh(
    `apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold ${flags.join(' ')} ${file} >&2`,
  )

/** Files of the machine but those of dpkg, apt and logs. */
async function listFiles(): Promise<readonly string[]> {
  const left = ['/proc', '/sys', '/dev', '/run', '/tmp', '/var/lib/dpkg', '/var/lib/apt', '/var/cache/apt', '/var/log']
  const pruned = left.map((folder) => `-path ${folder}`).join(' -o ')
  const listed = await machine.sh(`find / -xdev \\( ${pruned} \\) -prune -o -printf '%y %p %l\\n' | sort`)
  const running = await machine.sh('find /run/platnet /run/netns -mindepth 1 2>/dev/null || true')
  return [...listed.split('\n'), ...running.split('\n').filter(Boolean)]
}

/** Everything of the kernel that the program writes, as this network namespace has it. Empty tables of iptables count as none. */
async function listKernel(): Promise<readonly string[]> {
  const commands = [
    ['iptables-save'],
    ['ip6tables-save'],
    ['ipset', 'list', '-name'],
    ['nft', 'list', 'tables'],
    ['ip', '-o', 'link'],
    ['ip', '-o', 'address'],
    ['ip', 'route', 'show', 'table', 'all'],
    ['ip', 'rule'],
  ] as const
  const texts = await Promise.all(
    commands.map(([file, ...args]) => runProgram(file, args, { timeoutMs: 10_000 }).then(({ stdout }) => stdout)),
  )
  const isNoise = /^#|^\*|^COMMIT|^:[A-Z]+ ACCEPT|^$|^table ip6? (nat|filter|mangle|raw)$/
  const lines = texts.join('\n').split('\n')
  return lines
    .filter((line) => !isNoise.test(line))
    .map((line) => line.replaceAll(/\[\d+:\d+\]|valid_lft.*|^\d+: /g, ''))
}

async function ourRules(): Promise<number> {
  return (await listKernel()).filter((line) => line.includes('PLAT-')).length
}

/** Pods, their shims and haproxy. */
async function ourProcesses(): Promise<string> {
  return machine.sh("ps -e -o args= | grep -E 'platnet|haproxy' | grep -v grep || true")
}

/** Undefined for an answer as it should be. */
async function ask(host: string, headers: Readonly<Record<string, string>> = {}): Promise<string | undefined> {
  try {
    const { body } = await httpGet({ host, port: 80, timeout: 10_000, headers })
    return body === 'web' ? undefined : body
  } catch (error) {
    return String(error)
  }
}

const askService = () => ask(serviceAddress)
const askIngress = () => ask(nodeAddress, { host: 'web.example.com' })

/** Sends requests one after the other, each on a connection of its own, until `finish` is called. */
function startAsking(what: () => Promise<string | undefined>) {
  let isOver = false
  const run = (async () => {
    const failures: string[] = []
    let asked = 0
    for (; !isOver; asked += 1) {
      const failure = await what()
      if (failure !== undefined) failures.push(failure)
      await sleep(5)
    }
    return { asked, failures }
  })()
  return () => {
    isOver = true
    return run
  }
}

const labels = { app: 'web' }
const script = "require('node:http').createServer((q, r) => r.end('web')).listen(8080)"

async function startWeb(): Promise<void> {
  const metadata = { name: 'web' }
  const ports = [{ port: 80, targetPort: 8080 }]
  const spec = { clusterIP: serviceAddress, selector: labels, ports }
  await lab.create({ group: '', resource: 'services' }, { apiVersion: 'v1', kind: 'Service', metadata, spec })
  const command = ['/usr/lib/platnet/bin/node', '-e', script]
  await lab.createPod('web', { command, securityContext: { runAsUser: 65534 } }, {}, { labels })
  await lab.waitReady('web')
  const networking = 'networking.platform.internal'
  const group = { apiVersion: `${networking}/v1`, metadata }
  const controller = 'platform.internal/ingress'
  const classes = { group: networking, version: 'v1', resource: 'ingressclasses' }
  await lab.client.create({ resource: classes }, { ...group, kind: 'IngressClass', spec: { controller } })
  const backend = { service: { name: 'web', port: { number: 80 } } }
  const rule = { host: 'web.example.com', http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }
  await lab.create(
    { group: networking, resource: 'ingresses' },
    { ...group, kind: 'Ingress', spec: { ingressClassName: 'web', rules: [rule] } },
  )
  await untilAsync('the Service answers', async () => (await askService()) === undefined, deadlineMs)
  await untilAsync('the Ingress answers', async () => (await askIngress()) === undefined, deadlineMs)
}

const show = (property: string) => machine.sh(`systemctl show --value --property=${property} platnet.service`)

async function observe() {
  await untilAsync('the unit is active', async () => (await show('ActiveState')) === 'active', deadlineMs)
  const version = JSON.parse(await machine.sh('platnet version -o json')).version
  const pod = (await lab.pod('web'))?.status
  return { version, pid: await show('MainPID'), restarts: pod?.containerStatuses?.[0].restartCount }
}

/** Others that hold port 53, as systemd-resolved and dnsmasq do. */
async function takePort53(): Promise<void> {
  for (const address of ['127.0.0.53', '127.0.0.1']) {
    const socket = createSocket('udp4')
    await new Promise<void>((resolve) => socket.bind(53, address, resolve))
    socket.unref()
  }
}

async function installAndPurgeAtOnce() {
  await install('/root/older.deb')
  const haproxy = await machine.sh('systemctl is-enabled haproxy.service; systemctl is-active haproxy.service || true')
  const files = (await listFiles()).length
  const unit = await machine.sh('systemctl is-enabled platnet.service || true')
  await machine.sh('apt-get purge -y -qq platnet')
  return { haproxy, files, unit }
}

const staleCode = '/var/cache/platnet/of-another-version'

async function upgradeUnderLoad() {
  await machine.sh(`touch ${staleCode}`)
  const loads = [startAsking(askService), startAsking(askIngress)]
  const seen = [await observe()]
  const steps = [
    () => install('/root/newer.deb'),
    () => install('/root/newer.deb', '--reinstall'),
    () => install('/root/older.deb', '--allow-downgrades'),
  ]
  for (const step of steps) {
    await step()
    seen.push(await observe())
  }
  await lab.connect()
  const [service, ingress] = await Promise.all(loads.map((finish) => finish()))
  const kept = await machine.sh('cat /etc/platnet/config.yaml')
  const isCodeKept = (await machine.sh(`ls ${staleCode} 2>/dev/null || true`)) !== ''
  return { seen, service, ingress, isCodeKept, isConfigKept: `${kept}\n` === config }
}

async function removeAndComeBack() {
  await machine.sh('apt-get remove -y -qq platnet')
  const removed = { rules: await ourRules(), answer: await askService(), unit: await show('LoadState') }
  await install('/root/newer.deb')
  await machine.sh('systemctl start platnet')
  return { removed, back: await observe(), answer: await askService() }
}

/** Sends the output of the units to a file: there is no journal. */
async function keepOutput(): Promise<void> {
  const output = `[Service]\\nStandardOutput=append:${unitLog}\\nStandardError=append:${unitLog}\\n`
  for (const unit of ['platnet', 'platnet-server', 'platnet-agent']) {
    const dropIn = `/run/systemd/system.control/${unit}.service.d`
    await machine.sh(`mkdir -p ${dropIn} && printf '${output}' >${dropIn}/log.conf`)
  }
  await machine.sh('systemctl daemon-reload')
}

/** Server and agent as units of their own, which the unit for both then ends. */
async function runSidesApart() {
  const flags = '--config /etc/platnet/config.yaml --kubeconfig /var/lib/platnet/agent.kubeconfig'
  writeFileSync(join(machine.root, 'etc/default/platnet-agent'), `PLATNET_OPTIONS="${flags}"\n`)
  // Each comes back with READY.
  await machine.sh('systemctl start platnet-server')
  await machine.sh('systemctl start platnet-agent')
  const apart = await machine.sh('systemctl is-active platnet-server platnet-agent')
  const rules = await ourRules()
  const reload = await machine.sh('systemctl reload platnet-server platnet-agent && systemctl is-active platnet-server')
  await machine.sh('systemctl enable --now platnet')
  const together = await machine.sh('systemctl is-active platnet platnet-server platnet-agent || true')
  return { apart, rules, reload, together }
}

async function main() {
  await machine.boot(image, group)
  copyFileSync(older, join(machine.root, 'root/older.deb'))
  copyFileSync(newer, join(machine.root, 'root/newer.deb'))
  await createBridge({ name: 'plt-uplink' })
  await addAddress({ name: 'plt-uplink' }, { ip: ipOf(nodeAddress), prefixLength: 24 })
  await addRoute({ destination: 'default', via: ipOf('192.0.2.254') })
  await takePort53()
  writeFileSync(join(machine.root, 'etc/lab.corefile'), corefile)
  writeFileSync('/proc/sys/net/ipv4/ip_forward', '1')
  const first = await installAndPurgeAtOnce()
  await machine.sh('nft add table ip platnetx')
  const [filesBefore, kernelBefore] = [await listFiles(), await listKernel()]

  await machine.sh('dpkg -i /root/older.deb')
  await keepOutput()
  writeFileSync(configFile, config)
  const sides = await runSidesApart()
  await lab.connect()
  await startWeb()
  const status = await machine.sh('platnet status')
  const upgrades = await upgradeUnderLoad()
  const comeBack = await removeAndComeBack()
  const processesBefore = await ourProcesses()
  // Those of the mode nftables.
  for (const table of ['ip platnet', 'ip6 platnet']) await machine.sh(`nft add table ${table}`)
  await machine.sh('apt-get purge -y -qq platnet')
  const [filesAfter, kernelAfter] = [await listFiles(), await listKernel()]
  const difference = (one: readonly string[], other: readonly string[]) => one.filter((line) => !other.includes(line))
  return {
    first,
    sides,
    status,
    upgrades,
    comeBack,
    processesBefore,
    processesAfter: await ourProcesses(),
    newFiles: difference(filesAfter, filesBefore),
    lostFiles: difference(filesBefore, filesAfter),
    newInKernel: difference(kernelAfter, kernelBefore),
    lostInKernel: difference(kernelBefore, kernelAfter),
    isKnown: await machine.sh('dpkg-query -s platnet 2>/dev/null || true'),
  }
}

try {
  process.stdout.write(`${JSON.stringify(await main())}\n`)
} catch (error) {
  process.stderr.write(
    await machine.sh(`tail -n 40 ${unitLog} 2>&1; systemctl status platnet platnet-server platnet-agent 2>&1 || true`),
  )
  throw error
} finally {
  await machine.stop()
}
process.exit(0)
