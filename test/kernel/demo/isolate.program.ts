// Run by isolate.test.ts: says what it sees of its surroundings, then stays.
import { readdirSync, readFileSync } from 'node:fs'
import { hostPidVariable } from '../../../src/demo/isolate.ts'

const seen = {
  hostPid: Number(process.env[hostPidVariable]),
  pid: process.pid,
  run: readdirSync('/run'),
  links: [...readFileSync('/proc/net/dev', 'utf8').matchAll(/^ *(\S+):/gm)].map((match) => match[1]),
}
process.stdout.write(`${JSON.stringify(seen)}\n`)
if (process.argv.includes('--stay')) setInterval(() => {}, 1000)
