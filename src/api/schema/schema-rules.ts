import type { Extension } from './extension.ts'
import { type FieldError, forbiddenField, invalidField, requiredField } from './field-error.ts'
import { anyProperty, type Schema } from './schema.ts'

/** The position of a schema, as far as it decides which keywords are allowed. */
interface Place {
  readonly isRoot: boolean
  /** Inside apiVersion, kind or metadata, of the resource or of an embedded one. */
  readonly isInsideMeta: boolean
  /** The reason why no default is allowed at this position. */
  readonly noDefault: string | undefined
}

const metaFields = ['apiVersion', 'kind', 'metadata']

/** Checks Kubernetes' rules for every schema of a definition, structural or not: lists, maps and metadata. */
export function checkSchemaRules(schema: Schema, path: string, extension: Extension): readonly FieldError[] {
  return new SchemaRules(extension).check(schema, path, { isRoot: true, isInsideMeta: false, noDefault: undefined })
}

class SchemaRules {
  readonly #extension: Extension

  constructor(extension: Extension) {
    this.#extension = extension
  }

  check(schema: Schema, path: string, place: Place): readonly FieldError[] {
    const { allOf = [], anyOf = [], oneOf = [], not, items } = schema
    const below = { ...place, isRoot: false }
    const parts = Object.entries({ allOf, anyOf, oneOf }).flatMap(([keyword, schemas]) => {
      return schemas.flatMap((each, index) => this.check(each, `${path}.${keyword}[${index}]`, below))
    })
    return [
      ...this.#checkPlace(schema, path, place),
      ...this.#checkAdditional(schema, path, below),
      ...this.#checkProperties(schema, path, place),
      ...parts,
      ...(not === undefined ? [] : this.check(not, `${path}.not`, below)),
      ...(items === undefined ? [] : this.check(items, `${path}.items`, below)),
      ...this.#checkMapType(schema, path),
      ...this.#checkListType(schema, path),
      ...this.#checkMapKeys(schema, path),
      ...this.#checkNullable(schema, path),
    ]
  }

  #checkPlace(schema: Schema, path: string, { isInsideMeta, noDefault }: Place): readonly FieldError[] {
    const embedded = `${path}.${this.#extension('embedded-resource')}`
    return [
      ...(schema.default !== undefined && noDefault !== undefined
        ? [forbiddenField(`${path}.default`, `must not be set ${noDefault}`)]
        : []),
      ...(isInsideMeta && schema.embeddedResource === true
        ? [forbiddenField(embedded, 'must not be used inside of resource meta')]
        : []),
    ]
  }

  #checkAdditional(schema: Schema, path: string, place: Place): readonly FieldError[] {
    const { additionalProperties, properties = {} } = schema
    if (additionalProperties === undefined) return []
    const where = `${path}.additionalProperties`
    const isBoth = Object.keys(properties).length > 0 && additionalProperties !== anyProperty
    const noDefault = place.isInsideMeta ? 'inside additionalProperties applying to object metadata' : place.noDefault
    return [
      ...(isBoth ? [forbiddenField(where, 'additionalProperties and properties are mutual exclusive')] : []),
      ...this.check(additionalProperties, where, { ...place, noDefault }),
    ]
  }

  #checkProperties(schema: Schema, path: string, { isRoot, isInsideMeta, noDefault }: Place): readonly FieldError[] {
    const isObject = isRoot || schema.embeddedResource === true
    return Object.entries(schema.properties ?? {}).flatMap(([key, each]) => {
      const isMeta = isObject && metaFields.includes(key)
      return this.check(each, `${path}.properties[${key}]`, {
        isRoot: false,
        isInsideMeta: isInsideMeta || isMeta,
        noDefault: isMeta && isRoot ? `in top-level ${key}` : noDefault,
      })
    })
  }

  #checkMapType({ mapType, type }: Schema, path: string): readonly FieldError[] {
    if (mapType === undefined || type === 'object') return []
    return [wrongType(type, `${path}.type`, `must be object if ${this.#extension('map-type')} is specified`)]
  }

  #checkListType({ listType, type, items }: Schema, path: string): readonly FieldError[] {
    if (listType === undefined) return []
    if (type !== 'array') {
      return [wrongType(type, `${path}.type`, `must be array if ${this.#extension('list-type')} is specified`)]
    }
    if (listType !== 'set' || items === undefined) return []
    const why = `must be atomic as item of a list with ${this.#extension('list-type')}=set`
    const isGranularMap = items.type === 'object' && items.mapType !== 'atomic'
    const isGranularList = items.type === 'array' && (items.listType ?? 'atomic') !== 'atomic'
    if (isGranularMap) return [invalidField(`${path}.items.${this.#extension('map-type')}`, items.mapType, why)]
    return isGranularList ? [invalidField(`${path}.items.${this.#extension('list-type')}`, items.listType, why)] : []
  }

  #checkMapKeys({ listType, listMapKeys = [], items }: Schema, path: string): readonly FieldError[] {
    const [typeName, keysName] = [this.#extension('list-type'), this.#extension('list-map-keys')]
    const why = `must be map if ${keysName} is non-empty`
    if (listType !== 'map') {
      if (listMapKeys.length === 0) return []
      const where = `${path}.${typeName}`
      return [listType === undefined ? requiredField(where, why) : invalidField(where, listType, why)]
    }
    const parent = `if parent array's ${typeName} is map`
    return [
      ...(listMapKeys.length === 0
        ? [requiredField(`${path}.${keysName}`, `must not be empty if ${typeName} is map`)]
        : []),
      ...(items === undefined ? [requiredField(`${path}.items`, `must have a schema if ${typeName} is map`)] : []),
      ...(items !== undefined && items.type !== 'object'
        ? [invalidField(`${path}.items.type`, items.type ?? '', `must be object ${parent}`)]
        : []),
      ...(items?.type === 'object' ? this.#checkKeysOf(items, listMapKeys, path, parent) : []),
    ]
  }

  #checkKeysOf(
    { properties = {} }: Schema,
    keys: readonly string[],
    path: string,
    parent: string,
  ): readonly FieldError[] {
    const where = `${path}.${this.#extension('list-map-keys')}`
    return keys.flatMap((key, index) => {
      const type = Object.hasOwn(properties, key) ? properties[key]?.type : undefined
      const isScalar = type !== 'array' && type !== 'object'
      return [
        ...(isScalar
          ? []
          : [invalidField(`${path}.items.properties[${key}].type`, type, `must be a scalar type ${parent}`)]),
        ...(Object.hasOwn(properties, key)
          ? []
          : [invalidField(where, keys, 'entries must all be names of item properties')]),
        ...(keys.indexOf(key) < index ? [invalidField(where, keys, 'must not contain duplicate entries')] : []),
      ]
    })
  }

  /** Checks that items and keys are not nullable: a value or keys identify an item, so they must be present. */
  #checkNullable({ listType, listMapKeys = [], items }: Schema, path: string): readonly FieldError[] {
    if (items === undefined || (listType !== 'set' && listType !== 'map')) return []
    const why = `cannot be nullable when ${this.#extension('list-type')} is ${listType}`
    return [
      ...(items.nullable === true ? [forbiddenField(`${path}.items.nullable`, why)] : []),
      ...(listType === 'map' ? listMapKeys.flatMap((key) => this.#checkKey(items, key, path)) : []),
    ]
  }

  #checkKey({ properties = {}, required = [] }: Schema, key: string, path: string): readonly FieldError[] {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (property === undefined) return []
    const where = `${path}.items.properties[${key}]`
    const so = `this property is in ${this.#extension('list-map-keys')}, so it`
    const isThere = required.includes(key) || property.default !== undefined
    return [
      ...(isThere ? [] : [requiredField(`${where}.default`, `${so} must have a default or be a required property`)]),
      ...(property.nullable === true ? [forbiddenField(`${where}.nullable`, `${so} cannot be nullable`)] : []),
    ]
  }
}

function wrongType(type: string | undefined, path: string, why: string): FieldError {
  return type === undefined ? requiredField(path, why) : invalidField(path, type, why)
}
