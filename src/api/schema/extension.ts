/** How an extension is spelled in errors: `x-kubernetes-list-type`. */
export type Extension = (name: string) => string
