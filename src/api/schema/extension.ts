/** Returns the name of an extension as errors spell it: `x-kubernetes-list-type`. */
export type Extension = (name: string) => string
