import type { ListenFailure } from '../serve/listeners.ts'

/** An address on which at least one thread cannot listen. */
export interface AddressFailure extends ListenFailure {
  /** Another thread listens there, and gets all that comes to the address. */
  readonly isServed: boolean
}

/** Joins the failures of the threads that run. Each address is there once. */
export function joinFailures(ofThreads: readonly (readonly ListenFailure[])[]): readonly AddressFailure[] {
  const all = new Map(ofThreads.flat().map((failure) => [placeText(failure), failure]))
  return [...all].map(([place, failure]) => {
    const isServed = ofThreads.some((failures) => failures.every((one) => placeText(one) !== place))
    return { ...failure, isServed }
  })
}

function placeText({ address, port }: ListenFailure): string {
  return `${address} ${port}`
}
