/** Values of another shape than their type: JSON as what a test knows it to be, and bad input on purpose. */

/** JSON, as the type that the test expects of it. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the type is what the test says
export function jsonAs<Type>(text: string): Type {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the test knows what it wrote
  return JSON.parse(text) as Type
}

/** A value that is passed off as something that it may not be. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the type is what the test says
export function passedOff<Type>(value: unknown): Type {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- bad input is the point
  return value as Type
}
