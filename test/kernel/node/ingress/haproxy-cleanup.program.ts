import { cleanupHaproxy } from '../../../../src/node/ingress/haproxy/process.ts'
import { HaproxyLab, wholeChange } from '../../../helpers/haproxy-lab.ts'
import { routingTable } from '../../../helpers/routing-tables.ts'

// Starts two haproxies as two agents would, cleans up, and prints what is there before and after.
const labs = [await HaproxyLab.create(), await HaproxyLab.create()]
const table = routingTable({ 'a.example.com': { prefix: ['/'] } })
for (const lab of labs) await lab.driver.apply(table, wholeChange(table))
const masters = await Promise.all(labs.map(async (lab) => (await lab.processes()).master))
// An agent that runs would start its haproxy again; each haproxy outlives its agent.
for (const lab of labs) await lab.driver.stop({ signal: AbortSignal.timeout(10_000) })
const lines = await cleanupHaproxy()
const again = await cleanupHaproxy()
process.stdout.write(`${JSON.stringify({ folders: labs.map(({ folder }) => folder), masters, lines, again })}\n`)
