/** How long a resident reader stays after the last command that read through it. */
export const RESIDENT_MINUTES = 5
