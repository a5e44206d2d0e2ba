interface Shared<Value> {
  readonly value: Value
  uses: number
}

/** Keeps equal values once: the pods of one Deployment have the labels and ports in common. */
export class SharedValues<Value extends object> {
  readonly #values = new Map<string, Shared<Value>>()

  /** Returns the value that stands for all equal ones; each call wants one of `forget`. */
  share(value: Value): Value {
    const text = JSON.stringify(value)
    const known = this.#values.get(text)
    if (known === undefined) this.#values.set(text, { value, uses: 1 })
    else known.uses += 1
    return known?.value ?? value
  }

  forget(value: Value): void {
    const text = JSON.stringify(value)
    const known = this.#values.get(text)
    if (known === undefined) return
    known.uses -= 1
    if (known.uses === 0) this.#values.delete(text)
  }
}
