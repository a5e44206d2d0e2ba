// The load generator of `npm run bench -- api`, a process of its own: reads one LoadOrder on stdin, prints one LoadResult.
import { text } from 'node:stream/consumers'
import { createAll } from './create-load.ts'
import { listAll } from './list-load.ts'
import type { LoadOrder } from './load-order.ts'
import { watchWrites } from './watch-load.ts'

const order = JSON.parse(await text(process.stdin)) as LoadOrder

function perform(): Promise<unknown> {
  switch (order.kind) {
    case 'create':
      return createAll(order)
    case 'list':
      return listAll(order)
    case 'watch':
      return watchWrites(order)
  }
}

process.stdout.write(`${JSON.stringify(await perform())}\n`)
process.exit(0)
