/** One of a schema's `x-kubernetes-validations`: an expression of CEL that must hold for every value. */
export interface ValidationRule {
  /** The extension in the spelling of the definition. */
  readonly keyword: string
  readonly rule: string
  readonly message: string
  /** An expression that makes the message. */
  readonly messageExpression: string
  readonly reason: string
  /** Below the value: `.spec.size`, `.labels['a']`. */
  readonly fieldPath: string
  readonly optionalOldSelf: boolean | undefined
}
