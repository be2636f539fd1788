/**
 * The types of the handlers of routes that carry a call. The compiler checks here that each call takes what its route
 * has, and in `handlers.ts` that its result has the fields of the answer.
 */
import type { FunctionOf } from '../../library/call-paths.js'
import type { OptionsOf } from '../../schema/call.js'
import type { CarriedBy, CarryingRoute, JobName } from '../../schema/index.js'
import type { StartedJob } from './jobs.js'
import type { Answer, BodyOf, Parts, RouteRequest } from './service.js'

type AnyFunction = (...args: never[]) => unknown
type CalledBy<Name extends CarryingRoute> = Extract<FunctionOf<CarriedBy<Name>['call']['name']>, AnyFunction>
type Result<Name extends CarryingRoute> = Awaited<ReturnType<CalledBy<Name>>>
type NullForNone<Some> = Some extends void ? null : Some

/** The answer with the result of a call. A job has null for no result, and another answer no content. */
type AnswerWith<Name extends CarryingRoute> = Name extends JobName
  ? StartedJob<NullForNone<Result<Name>>>
  : Result<Name> extends void
    ? object
    : CarriedBy<Name> extends { readonly field: infer Field extends string }
      ? Answer<{ readonly [Key in Field]: Result<Name> }>
      : Answer<Result<Name>>

/** An object without fields has an index signature, and an absent body is undefined. */
type FieldsIn<Some> = string extends keyof Some ? unknown : Some extends object ? Some : unknown
type InputOf<Name extends CarryingRoute> = FieldsIn<RouteRequest<Name>['params']> &
  FieldsIn<RouteRequest<Name>['query']> &
  FieldsIn<BodyOf<Name>>
type ArgsOf<Name extends CarryingRoute> =
  CarriedBy<Name> extends { readonly args: infer Args extends readonly string[] } ? Args : []
type Values<Names extends readonly string[], Input> = {
  [At in keyof Names]: Names[At] extends keyof Input ? Input[Names[At]] : unknown
}
/** JSON has no undefined. */
type InJson<T> = T extends readonly (infer Item)[]
  ? readonly InJson<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: InJson<Exclude<T[Key], undefined>> }
    : T
type OptionsIn<Name extends CarryingRoute> = InJson<Omit<InputOf<Name>, ArgsOf<Name>[number]>>
type OptionShape<Name extends CarryingRoute> = ReturnType<CarriedBy<Name>['call']['options']>

/** The input of the routes, as arguments. */
type Given = {
  readonly [Name in CarryingRoute]: {
    readonly args: [...Values<ArgsOf<Name>, InputOf<Name>>, ...(keyof OptionShape<Name> extends never ? [] : [never])]
    readonly options: OptionsIn<Name>
  }
}
/** What the calls take: their positional arguments, and the options that they state, without others. */
type Accepted = {
  readonly [Name in CarryingRoute]: {
    readonly args: Parameters<CalledBy<Name>>
    readonly options: OptionsOf<CarriedBy<Name>['call']> & {
      readonly [Key in Exclude<keyof OptionsIn<Name>, keyof OptionShape<Name>>]?: never
    }
  }
}

type HandlersIf<_Given extends Accepted> = {
  readonly [Name in CarryingRoute]: (parts: Parts, request: RouteRequest<Name>) => Promise<AnswerWith<Name>>
}

/** The handlers, if each call takes the input of its route. Otherwise the compiler names the route. */
export type CarriedCalls = HandlersIf<Given>
