/** One rule of a schema's `x-kubernetes-validations`: a CEL expression that must be true for every value. */
export interface ValidationRule {
  /** The name of the extension in the definition's spelling. */
  readonly keyword: string
  readonly rule: string
  readonly message: string
  /** A CEL expression that returns the message. */
  readonly messageExpression: string
  readonly reason: string
  /** The field path relative to the value: `.spec.size`, `.labels['a']`. */
  readonly fieldPath: string
  readonly optionalOldSelf: boolean | undefined
}
