/** The options of a call as parameters of an address and as fields of a body. */
import { z } from 'zod'
import { aboutOption, type OptionShape } from './call.js'
import { at, revision, whole } from './fields.js'

/** JSON has no dates, and positions are texts in it. */
type InJson<Input> = Exclude<Input, Date> | (number extends Input ? string : never)
/** In an address everything is a text. */
type AddressText<Input> = Input extends string ? Input : string
/** The value that the service passes to the call. */
type Passed<Input> = Date extends Input ? string : Input

type Field<Schema, Input, Output> = Schema extends z.ZodExactOptional
  ? z.ZodOptional<z.ZodType<Output, Input>>
  : z.ZodType<Output, Input>

type InAddress<Shape extends OptionShape> = {
  -readonly [Name in keyof Shape]: Field<Shape[Name], AddressText<z.input<Shape[Name]>>, Passed<z.input<Shape[Name]>>>
}
type InBody<Shape extends OptionShape> = {
  -readonly [Name in keyof Shape]: Field<Shape[Name], InJson<z.input<Shape[Name]>>, Passed<z.input<Shape[Name]>>>
}

const MAX_WHOLE = 999_999_999

/** A parameter of an address for an option; undefined if an address cannot have it. */
function parameterOf(schema: z.ZodType): z.ZodType | undefined {
  const { kind, description, least = 0, most = MAX_WHOLE, choices } = aboutOption(schema)
  switch (kind) {
    case 'text':
      return z.string().min(1).meta({ description })
    case 'time':
      return z.string().meta({ description })
    case 'choice':
      return choices && z.enum(choices).meta({ description })
    case 'whole':
      return whole(least, most, description)
    case 'position':
      return revision.meta({ description })
    case 'moment':
      return at.meta({ description: `${description}. ${at.description ?? ''}` })
    case 'flag':
      return z.stringbool({ truthy: ['true'], falsy: ['false'] }).meta({ type: 'boolean', description })
    case 'listener':
    case 'awaitedListener':
    case 'value':
      return undefined
  }
}

/** A field of a body for an option; undefined if JSON cannot have it. */
function bodyFieldOf(schema: z.ZodType): z.ZodType | undefined {
  const { kind, description, least = 0, most, choices } = aboutOption(schema)
  switch (kind) {
    case 'whole':
      return (most === undefined ? z.int().min(least) : z.int().min(least).max(most)).meta({ description })
    case 'flag':
      return z.boolean().meta({ description })
    case 'text':
    case 'time':
    case 'choice':
    case 'position':
    case 'moment':
    case 'listener':
    case 'awaitedListener':
    case 'value':
      return kind === 'choice' && choices ? z.enum(choices).meta({ description }) : parameterOf(schema)
  }
}

function derived(
  options: OptionShape,
  omitted: readonly PropertyKey[],
  fieldOf: (schema: z.ZodType) => z.ZodType | undefined,
): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(options).flatMap(([option, schema]) => {
      if (omitted.includes(option)) return []
      const field = fieldOf(schema)
      if (field === undefined) throw new Error(`state how the option ${option} is sent, or omit it`)
      return [[option, schema instanceof z.ZodExactOptional ? field.optional() : field]]
    }),
  )
}

/** The options as parameters of an address, without `omitted`. */
export const inAddress = <Shape extends OptionShape, Omitted extends keyof Shape = never>(
  options: Shape,
  ...omitted: readonly Omitted[]
): Omit<InAddress<Shape>, Omitted> =>
  // The loop over the options keeps their names.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  derived(options, omitted, parameterOf) as Omit<InAddress<Shape>, Omitted>

/** The options as fields of a body, without `omitted`. */
export const inBody = <Shape extends OptionShape, Omitted extends keyof Shape = never>(
  options: Shape,
  ...omitted: readonly Omitted[]
): Omit<InBody<Shape>, Omitted> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  derived(options, omitted, bodyFieldOf) as Omit<InBody<Shape>, Omitted>
