/**
 * A call of the library as data: its name and its options. Each option is stated once, with its description and the
 * sentences for wrong values. The types of the library, the checks, the parameters of the service, the flags of the
 * command line and the arguments of tools derive from it.
 */
import { z } from 'zod'

/** What kind of value an option takes, as far as other interfaces must know. */
export interface OptionForm {
  /** `value`: only programs can pass it, such as a listener or a signal. */
  readonly kind:
    | 'text'
    | 'whole'
    | 'choice'
    | 'flag'
    | 'time'
    | 'moment'
    | 'position'
    | 'listener'
    | 'awaitedListener'
    | 'value'
  /** Bounds of a number over HTTP. The library may accept more. */
  readonly least?: number
  readonly most?: number
  /** The names to choose from. */
  readonly choices?: readonly [string, ...string[]]
}

interface AboutOption extends OptionForm {
  readonly description: string
}

const forms = z.registry<OptionForm>()
const abouts = z.registry<AboutOption>()

/** States what kind of value a schema is for. */
export function ofForm<Schema extends z.ZodType>(schema: Schema, form: OptionForm): Schema {
  forms.add(schema, form)
  return schema
}

/** An option that may be absent. */
export interface Option<Output, Input = Output> extends z.ZodExactOptional<z.ZodType<Output, Input>> {}

type Bounds = Pick<OptionForm, 'least' | 'most'>

function describe(schema: z.ZodType, value: z.ZodType, description: string, bounds: Bounds): void {
  abouts.add(schema, { kind: 'value', ...forms.get(value), ...bounds, description })
}

/** An option that may be absent. Its schema must reject wrong values with sentences that continue its name. */
export function option<Output, Input>(
  description: string,
  value: z.ZodType<Output, Input>,
  bounds: Bounds = {},
): Option<Output, Input> {
  const optional = z.exactOptional(value)
  describe(optional, value, description, bounds)
  return optional
}

/** An option that every caller passes. */
export function required<Output, Input>(
  description: string,
  value: z.ZodType<Output, Input>,
  bounds: Bounds = {},
): z.ZodType<Output, Input> {
  describe(value, value, description, bounds)
  return value
}

/** Description and form of an option. */
export function aboutOption(schema: z.ZodType): AboutOption {
  const about = abouts.get(schema)
  if (about === undefined) throw new Error('the option has no description: write option(…) or required(…)')
  return about
}

export type OptionShape = Readonly<Record<string, z.ZodType>>

/** An option that is wrong, and why. */
interface WrongOption {
  readonly field: string
  readonly detail: string
}

/** The options as a caller passes them. */
export type InputOf<Shape extends OptionShape> = Readonly<z.input<z.ZodObject<Shape>>>
/** The options as the library uses them. */
export type OutputOf<Shape extends OptionShape> = Readonly<z.output<z.ZodObject<Shape>>>

/** A call of the library. */
export interface Call<Shape extends OptionShape = OptionShape, Name extends string = string> {
  /** Its name, as a caller writes it: `editions.undo`. */
  readonly name: Name
  /** Whether it records something, which a ledger for reading rejects. */
  readonly writes: boolean
  /** The options. They are made when the call is used first, because a command uses few calls. */
  readonly options: () => Shape
  /** What is wrong with options that are right one by one. */
  check?(this: void, options: OutputOf<Shape>): WrongOption | undefined
}

/** The options of a call, as a caller passes them. */
export type OptionsOf<C extends Call> = InputOf<ReturnType<C['options']>>

/** States a call. */
export function call<const Name extends string, Shape extends OptionShape>(
  name: Name,
  { writes = false, options, check }: Partial<Pick<Call, 'writes'>> & Pick<Call<Shape>, 'options' | 'check'>,
): Call<Shape, Name> {
  let made: Shape | undefined
  return { name, writes, options: () => (made ??= options()), ...(check === undefined ? {} : { check }) }
}

/** States a call without options. */
export const plainCall = <const Name extends string>(name: Name) => call(name, { options: () => ({}) })
