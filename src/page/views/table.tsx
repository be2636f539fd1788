/** A table as every view has it: named for those who hear it, and wider than a narrow screen without moving the page. */
import type { Child } from 'hono/jsx'

/** A column: its name, and what stands in it where that is no text. */
type Column = string | { readonly name: string; readonly is: 'figure' | 'time' | 'heading' }

const nameOf = (column: Column): string => (typeof column === 'string' ? column : column.name)
const classOf = (column: Column): string | undefined =>
  typeof column === 'string' || column.is === 'heading' ? undefined : column.is === 'figure' ? 'n' : 'time'

/** A column of figures. */
export const figure = (name: string): Column => ({ name, is: 'figure' })

/** Columns, and a row of cells for each line. The column that is a heading names its row; the first one otherwise. */
export function Table({
  label,
  columns,
  rows,
  tight = false,
}: {
  label: string
  columns: readonly Column[]
  rows: readonly (readonly Child[])[]
  /** Names of columns may take several lines. */
  tight?: boolean
}): Child {
  const heading = Math.max(
    0,
    columns.findIndex((column) => typeof column !== 'string' && column.is === 'heading'),
  )
  return (
    <div class="wide" role="region" aria-label={label} tabindex={0}>
      <table class={tight ? 'rows tight' : 'rows'}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col" class={classOf(column) === 'n' ? 'n' : undefined}>
                {nameOf(column)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells) => (
            <tr>
              {cells.map((cell, at) =>
                at === heading ? <th scope="row">{cell}</th> : <td class={classOf(columns[at] ?? '')}>{cell}</td>,
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
