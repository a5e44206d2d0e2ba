import { type Readable, Transform, type TransformCallback } from 'node:stream'
import type { IngressLimits } from '../driver.ts'

/** The client sends too much (413) or nothing for too long (408). */
export class BodyFault extends Error {
  readonly status: 408 | 413

  constructor(status: 408 | 413, message: string) {
    super(message)
    this.status = status
  }
}

/**
 * The body of a request on its way to one endpoint. It takes nothing from the client before `begin`, so that another endpoint can get the whole
 * body where this one cannot be reached.
 */
export class RequestBody extends Transform {
  readonly #source: Readable
  readonly #limits: Pick<IngressLimits, 'maxBodyBytes' | 'idleTimeoutMs'>
  #bytes = 0
  #timer: NodeJS.Timeout | undefined

  constructor(source: Readable, limits: Pick<IngressLimits, 'maxBodyBytes' | 'idleTimeoutMs'>) {
    super()
    this.#source = source
    this.#limits = limits
    this.on('error', () => {})
  }

  begin(): void {
    const { idleTimeoutMs } = this.#limits
    this.#timer = setTimeout(
      () => this.destroy(new BodyFault(408, 'the client stopped within its body')),
      idleTimeoutMs,
    )
    this.#source.pipe(this)
  }

  /** A backend that has begun to answer decides itself how long it waits for the rest. */
  waitNoMore(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#timer?.refresh()
    this.#bytes += chunk.length
    const { maxBodyBytes } = this.#limits
    if (maxBodyBytes > 0 && this.#bytes > maxBodyBytes) done(tooLarge(maxBodyBytes))
    else done(null, chunk)
  }

  override _flush(done: TransformCallback): void {
    this.waitNoMore()
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.waitNoMore()
    this.#source.unpipe(this)
    done(error)
  }
}

export function tooLarge(maxBodyBytes: number): BodyFault {
  return new BodyFault(413, `the body is larger than ${maxBodyBytes} bytes`)
}
