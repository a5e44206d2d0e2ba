import { createSocket } from 'node:dgram'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'

/** What one attempt is; results stand in the order of the attempts. */
export interface Probe {
  readonly source: string
  readonly destination: string
  readonly port: number
  readonly protocol: 'TCP' | 'UDP'
  /** How long to wait for an answer before it counts as silence. */
  readonly patienceMs: number
}

/** What the answering program said, or `refused`, `silence` or an error's code. */
type Result = string

/** Each line of standard input holds probes as JSON: makes them, many at a time, and answers with a line of results. */
for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(`${JSON.stringify(await makeAll(JSON.parse(line)))}\n`)

async function makeAll(probes: readonly Probe[]): Promise<readonly Result[]> {
  const results: Result[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let index = next++; index < probes.length; index = next++) {
      const probe = probes[index]
      if (probe) results[index] = await (probe.protocol === 'TCP' ? probeTcp(probe) : probeUdp(probe))
    }
  }
  await Promise.all(Array.from({ length: 48 }, work))
  return results
}

function probeTcp({ source, destination, port, patienceMs }: Probe): Promise<Result> {
  const socket = connect({ host: destination, port, localAddress: source })
  return new Promise<Result>((resolve) => {
    let answer = ''
    const timer = setTimeout(() => resolve('silence'), patienceMs)
    socket.on('data', (data) => {
      answer += data
    })
    socket.on('end', () => resolve(answer))
    socket.on('error', (error) => resolve(codeOf(error)))
    socket.on('close', () => clearTimeout(timer))
  }).finally(() => socket.destroy())
}

/** Asks again and again: any one datagram may be lost on a busy machine. */
function probeUdp({ source, destination, port, patienceMs }: Probe): Promise<Result> {
  const socket = createSocket(source.includes(':') ? 'udp6' : 'udp4')
  const stop: (() => void)[] = []
  return new Promise<Result>((resolve) => {
    const timer = setTimeout(() => resolve('silence'), patienceMs)
    socket.on('message', (data) => resolve(String(data)))
    // What OUTPUT drops, the kernel tells the sender as EPERM; a refusal follows as an error of its own.
    socket.on('error', (error) => codeOf(error) === 'EPERM' || resolve(codeOf(error)))
    socket.bind({ address: source }, () =>
      socket.connect(port, destination, () => {
        const send = () => socket.send('?', (error) => error && codeOf(error) !== 'EPERM' && resolve(codeOf(error)))
        send()
        const again = setInterval(send, 100)
        stop.push(() => clearInterval(again))
      }),
    )
    stop.push(() => clearTimeout(timer))
  }).finally(() => {
    for (const each of stop) each()
    socket.close()
  })
}

function codeOf(error: Error): string {
  const code = 'code' in error ? String(error.code) : error.message
  return code === 'ECONNREFUSED' ? 'refused' : code
}
