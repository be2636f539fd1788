/** Groups of Spanish words that the table of rules names, and the words that exclude a rule. */
/** Imperatives of work, of *tú* and *usted*. An object pronoun may follow: "mándalos". */
export const IMPERATIVES =
  'usa|use|utiliza|utilice|emplea|escribe|escriba|pon|ponga|haz|haga|manda|mande|envía|envíe|pasa|pase|deja|deje|guarda|guarde|responde|responda|contesta|conteste|habla|hable|mantén|mantenga|mantente|manténgase|borra|borre|quita|quite|tapa|tape|oculta|oculte|enmascara|enmascare|anonimiza|anonimice|elimina|elimine|cifra|cifre|pregunta|pregunte|pregúntame|pregúnteme|consulta|consulte|consúltame|consúlteme|avisa|avise|avísame|avíseme|pide|pida|pídeme|espera|espere|para|pare|detén|detente|deténgase|detenlo|cancela|cancele|aborta|aborte|deriva|derive|reenvía|reenvíe|transfiere|escala|escale|notifica|notifique|informa|informe|revierte|vuelve|incluye|incluya|copia|copie|agrega|agregue|añade|añada|elige|elija|prefiere|toma|tome|coge|trabaja|trabaje|ejecuta|ejecute|corre|lanza|lance|sube|suba|instala|instale|compra|compre|paga|pague|reserva|reserve|limita|limite|limítate|limítese|trata|trate|considera|considere|muestra|muestre|enseña|enséñame|muéstrame|resume|resuma|sé|sea|ve|empieza|empiece|termina|termine|firma|firme|nombra|nombre|llama|llame|marca|marque|anota|anote|apunta|apunte|registra|registre|comprueba|compruebe|verifica|verifique|revisa|revise|confirma|confirme|lee|lea|publica|publique|despliega|despliegue|fusiona|fusione|abre|abra|cierra|cierre|rechaza|rechace|devuelve|devuelva|traslada|traslade|remite|remita|cambia|cambie|redondea|redondee|ordena|ordene|formatea|sustituye|sustituya|reemplaza|reemplace|omite|omita|evita|evite|solicita|solicite|dirige|dirija|tutea|trátame|háblame|escríbeme|contéstame|respóndeme|dime|dígame|dame|deme|redacta|redacte|comenta|comente|documenta|documente|ajusta|ajústate|cíñete|recorta|trunca|difumina|tacha|censura|depura|limpia|limpie|desidentifica|seudonimiza|almacena|almacene|archiva|archive|coloca|coloque|mete|meta|reinicia|actualiza|actualice|gasta|gaste|conserva|conserve|respeta|respete|sigue|siga|queda|quédate|aléjate|asigna|asigne|canaliza|canalice|tramita|tramite|gestiona|gestione|mide|genera|genere|crea|cree|añádeme|inclúyeme|cópiame|ponme'
export const ORDER = String.raw`(?:${IMPERATIVES})(?:l[aeo]s?|me|nos|se|melo|selo)?|\p{L}*(?:á|é|í|ó|ú)\p{L}+(?:l[aeo]s?|me|melos?)`
export const DAYS =
  '(?:lunes|martes|miércoles|jueves|viernes|sábados?|domingos?|festivos?|fines? de semana|días? (?:festivos|laborables|hábiles)|vísperas?|navidad|noches?|madrugada)'
export const TIME = String.raw`(?:(?:el |la |las |los )?(?:\d{1,2}(?:[:.h]\d\d)?|${DAYS}|mediodía|medianoche|mañanas?|tardes?|(?:el )?día \d+|horario (?:laboral|de oficina|comercial)|horas? (?:de oficina|laborables|punta|hábiles)|cierre|fin de mes|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre))`
export const ONLY = '(?:solo|sólo|solamente|únicamente|exclusivamente|nada más que|tan solo)'
export const NUMBER =
  '(?:\\d[\\d.,]*|uno?|una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce|quince|veinte|treinta|cincuenta|cien|mil)'
export const APPROVAL =
  '(?:aprobación|autorización|confirmación|visto bueno|permiso|consentimiento|firmas?|aprobaciones|ok|okay|luz verde|aval|beneplácito|validación|conformidad|revisión|sí explícito|aceptación|doble control)'
export const APPROVED =
  '(?:aprob\\p{L}+|aprueb\\p{L}+|autoric\\p{L}+|autoriz\\p{L}+|confirm\\p{L}+|firm(?:e|ado|ada)|visto bueno|luz verde|dado (?:el|su|la)|dé (?:el|su|la|mi)|valid\\p{L}+|dicho que sí|diga que sí|revis\\p{L}+|permiso|ok|okay|conformidad|consentimiento|leído)'
export const TONGUE =
  '(?:español|castellano|inglés|alemán|francés|italiano|portugués|catalán|gallego|euskera|valenciano|japonés|chino|coreano|ruso|polaco|árabe)'
export const WIPE =
  '(?:quit|tap|ocult|enmascar|anonimi|elimin|borr|cifr|encript|tach|censur|difumin|trunc|ofusc|suprim|depur|limpi|pixel|seudonimi|recort|redact|hashe|sustitu|reemplaz)'
export const STANDING =
  '(?:siempre|cada|nunca|jamás|todos|todas|todo|antes de|a partir de ahora|por defecto|en adelante|solo|sólo|únicamente|cuando|vez que|siempre que|ningún|ninguna|en general|no (?:uses|mandes|toques|pongas|hagas))'
/** A report of the past, or of the speaker and others. */
export const STORY =
  /(?<!\p{L})(?:yo|me|mi|él|ella|fue|era|eran|estaba|estaban|estuvo|había|habían|hacíamos|hizo|ha|han|he|hemos|corrió|pasó|dijo|ayer|tuve|tuvo|tuvimos|iba|íbamos|quería|podía|pude|gratis|gratuit[ao]|básico)(?!\p{L})|\p{L}{2,}(?:ábamos|íamos|aron|ieron|aba|aban)(?!\p{L})/u
export const PAST =
  /(?<!\p{L})(?:fue|era|eran|estaba|estaban|estuvo|había|habían|hizo|corrió|dijo|ayer|tuvo|gratis|gratuit[ao]|básico|el mes pasado|la semana pasada)(?!\p{L})|\p{L}{2,}(?:ábamos|íamos|aron|ieron|aba|aban)(?!\p{L})/u
export const ONCE =
  /(?<!\p{L})(?:ahora(?! en adelante)(?<!a partir de ahora)(?<!desde ahora)|ya,|ya la|hoy|esta vez|en (?:este|esta) (?:párrafo|correo|frase|diapositiva|página|línea|mensaje|imagen)|salió|llegó|fueron?|este correo|esta mañana|esta noche)(?!\p{L})/u
/** Verbs after *no*, as prohibitions end, that are statements. */
export const NO_ORDER =
  '(?:sabes|puedes|tienes|crees|quieres|eres|es|ves|te preocupes|olvides|más|pues|entonces|antes|menos|veces|estás|vas|debes|haces|dices|hay|has|sé|son|solo|les|las|los|nos|otras|otros|muchas|muchos|deberías|podrías|te rindas|te sientas|estés|seas)'
