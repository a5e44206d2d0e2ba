/** Returns the spelling of an extension in errors: `x-kubernetes-list-type`. */
export type Extension = (name: string) => string
