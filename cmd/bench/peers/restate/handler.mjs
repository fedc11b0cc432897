import { createHmac, timingSafeEqual } from "node:crypto";
import http from "node:http";
import * as restate from "@restatedev/restate-sdk";

const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });

function send(conversation, message) {
	return new Promise((resolve, reject) => {
		const body = JSON.stringify(message);
		const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body), authorization: "Bearer bench-key" };
		const request = http.request(`${process.env.SERVICE}/conversations/${conversation}/messages`, { method: "POST", agent, headers }, (answer) => {
			let text = "";
			answer.on("data", (part) => (text += part));
			answer.on("end", () => (answer.statusCode < 300 ? resolve(JSON.parse(text)) : reject(new Error(`answered ${answer.statusCode}`))));
		});
		request.on("error", reject);
		request.end(body);
	});
}

// verify ends a run whose delivery the service has not signed within the five minutes before.
function verify({ headers, body }, now) {
	const time = headers.get("x-service-timestamp") ?? "";
	const given = Buffer.from(headers.get("x-service-signature") ?? "");
	const right = Buffer.from("sha256=" + createHmac("sha256", process.env.SECRET).update(time + ".").update(body).digest("hex"));
	if (given.length !== right.length || !timingSafeEqual(given, right) || !(Math.abs(now / 1000 - time) <= 300)) {
		throw new restate.TerminalError("signature refused", { errorCode: 401 });
	}
}

const desk = restate.service({
	name: "desk",
	handlers: {
		received: async (ctx, event) => {
			verify(ctx.request(), await ctx.date.now()); // the time at which it was first looked at, however often it is
			if (!event.data.message.text.includes("order")) return;
			const client = ctx.rand.uuidv4();
			await ctx.run("send", () => send(event.data.conversation.id, { client_id: client, text: "a " + event.id }));
		},
	},
});

setInterval(() => process.ppid !== Number(process.env.PARENT) && process.exit(), 100); // the server has gone away
restate.serve({ services: [desk], port: Number(process.env.HANDLER) });

// The server is told of the handler until it has heard.
const told = setInterval(async () => {
	const body = JSON.stringify({ uri: `http://127.0.0.1:${process.env.HANDLER}`, force: true });
	const answer = await fetch(`http://${process.env.ADMIN}/deployments`, { method: "POST", headers: { "content-type": "application/json" }, body }).catch(() => null);
	if (answer?.ok) clearInterval(told);
}, 250);
