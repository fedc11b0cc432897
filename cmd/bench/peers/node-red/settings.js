module.exports = {
	uiHost: "127.0.0.1",
	uiPort: process.env.PORT,
	httpAdminRoot: false, // no editor in production
	httpNodeRoot: "/",
	apiMaxLength: "1mb",
	flowFile: "flows.json",
	credentialSecret: false,
	telemetry: { enabled: false },
	externalModules: { autoInstall: false },
	functionExternalModules: true, // crypto, which is in Node.js
	logging: { console: { level: "warn", metrics: false, audit: false } },
};
