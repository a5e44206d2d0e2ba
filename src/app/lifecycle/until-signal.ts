/** `requested` resolves at the first SIGINT or SIGTERM or when the supervisor's channel closes, `insisted` at the second signal. */
export interface StopSignals {
  readonly requested: Promise<string>
  readonly insisted: Promise<string>
}

export function listenForSignals(source: NodeJS.EventEmitter = process): StopSignals {
  const requested = Promise.withResolvers<string>()
  const insisted = Promise.withResolvers<string>()
  let count = 0
  for (const signal of ['SIGINT', 'SIGTERM']) {
    source.on(signal, () => {
      count += 1
      if (count === 1) requested.resolve(signal)
      else insisted.resolve(signal)
    })
  }
  source.once('disconnect', () => requested.resolve('the supervisor is gone'))
  return { requested: requested.promise, insisted: insisted.promise }
}
