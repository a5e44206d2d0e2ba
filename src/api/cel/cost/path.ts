/**
 * A path from a variable through fields, `@items`, `@keys` and `@values`. It grows like a slice of Go: two paths that
 * extend the same path can share memory, and the later one then changes the earlier. Kubernetes' estimates depend on
 * that.
 */
export class Path {
  readonly #memory: { readonly steps: string[]; readonly capacity: number }
  readonly #length: number

  private constructor(memory: { readonly steps: string[]; readonly capacity: number }, length: number) {
    this.#memory = memory
    this.#length = length
  }

  static of(variable: string): Path {
    return new Path({ steps: [variable], capacity: 1 }, 1)
  }

  static append(path: Path | undefined, step: string): Path {
    return path === undefined ? Path.of(step) : path.#append(step)
  }

  #append(step: string): Path {
    const { steps, capacity } = this.#memory
    if (this.#length < capacity) {
      steps[this.#length] = step
      return new Path(this.#memory, this.#length + 1)
    }
    return new Path({ steps: [...this.steps, step], capacity: capacity * 2 }, this.#length + 1)
  }

  get steps(): readonly string[] {
    return this.#memory.steps.slice(0, this.#length)
  }
}
