import { once } from 'node:events'
import http from 'node:http'

interface StreamEvent {
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into documents of any shape.
  readonly data: any
}

/** Reads server-sent events; `until` resolves with all events up to the first that fits, and takes them away. */
export async function readStream(port: number, path: string) {
  const request = http.get({ host: '127.0.0.1', port, path, agent: false })
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const waiting: StreamEvent[] = []
  let [rest, isEnded] = ['', false]
  let wake = () => {}
  response.setEncoding('utf8')
  response.on('data', (text: string) => {
    const blocks = (rest + text).split('\n\n')
    rest = blocks.pop() ?? ''
    waiting.push(...blocks.map(parseBlock))
    wake()
  })
  const end = () => {
    isEnded = true
    wake()
  }
  response.on('error', end).on('close', end)
  return {
    get isEnded() {
      return isEnded
    },
    close: () => request.destroy(),
    async until(fits: (event: StreamEvent) => boolean): Promise<readonly StreamEvent[]> {
      for (;;) {
        const at = waiting.findIndex(fits)
        if (at >= 0) return waiting.splice(0, at + 1)
        if (isEnded) throw new Error(`the stream ended after ${JSON.stringify(waiting).slice(0, 500)}`)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
  }
}

function parseBlock(block: string): StreamEvent {
  const [, event = ''] = /^event: (.*)$/m.exec(block) ?? []
  const [, data = 'null'] = /^data: (.*)$/m.exec(block) ?? []
  return { event, data: JSON.parse(data) }
}
